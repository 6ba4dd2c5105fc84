// Every byte of a model's files, and what becomes of it.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/memory_plan.h"
#include "vt/gguf.h"

namespace vt {

// The parts add up to `bytes`, exactly. A tensor that several devices hold counts once.
struct FileAccount {
  std::uint64_t bytes = 0;           // of all files
  std::uint64_t header_bytes = 0;    // before the first tensor of each
  std::uint64_t padding_bytes = 0;   // between tensors and after the last
  std::uint64_t kept_bytes = 0;      // tensors that some device holds as they are
  std::uint64_t expanded_bytes = 0;  // tensors that are held decoded alone
  std::uint64_t streamed_bytes = 0;  // tensors whose experts are copied to slots when chosen
  std::uint64_t unused_bytes = 0;    // tensors of no use to this decoder
  std::uint64_t computed_bytes = 0;  // tensors that stand in no file
  std::uint64_t sum() const {
    return header_bytes + padding_bytes + kept_bytes + expanded_bytes + streamed_bytes +
           unused_bytes + computed_bytes;
  }
};

FileAccount AccountFor(const GgufFile& file, const EnginePlan& plan);

// Bytes that a token's step reads of the tensors that the host has mapped: of a table that rows are
// looked up in, a row; of the experts, those that a token uses (and that are not in a slot).
struct MappedReads {
  std::uint64_t mapped_bytes = 0;        // of all these tensors
  std::uint64_t always_bytes = 0;        // read with every token
  std::uint64_t experts_bytes = 0;       // of the experts in all
  std::uint64_t experts_read_bytes = 0;  // and of those that one token uses
  MappedReads& operator+=(const MappedReads& more);
};
MappedReads ReadsOfMapped(const GgufFile& file, const ModelSpec& spec, const EnginePlan& plan);

// Bytes that must be read from the file again for each token where the host has `room` for mapped
// pages: what every token reads stays first, the rest of the room holds experts, each as likely.
std::uint64_t PagedPerToken(const MappedReads& reads, std::uint64_t room);

}  // namespace vt
