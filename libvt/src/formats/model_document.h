// The header of a model file as part of a vt.model/1 document, written and read back.
//
// A document that was read back is an ordinary GgufFile, so that whatever works from the header of
// a file works from the document: metadata, tensor table and sizes are those of the file, all of it
// in one shard. Weights read as zeros. Long strings and arrays of strings, which the document
// leaves out, have their length but not their text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "vt/gguf.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::size_t kDescribedStringBytes = 4096;  // longer strings are left out
inline constexpr std::uint64_t kDescribedElements = 4096;   // and so are longer arrays

// "metadata": every key in file order: key, type, of and count (arrays), bytes (strings), value.
void WriteMetadata(JsonWriter& json, const GgufFile& file);

struct ModelDocument {
  GgufFile file;
  std::string name;       // of the file that the document describes
  std::string digest;     // that file's HeaderDigest()
  std::string mapped_as;  // what messages about `file` call it
};

// kInvalid, at() a JSON pointer: what the rebuilt header needs is missing, of a wrong type, out of
// range or contradicts itself. Keys that it does not need are not looked at.
Result<ModelDocument> ReadModelDocument(std::string_view json);

// `status` with the document's name where it names the rebuilt file.
Status InTermsOf(const ModelDocument& document, const Status& status);

}  // namespace vt
