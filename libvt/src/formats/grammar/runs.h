// Stretches of text in which a grammar does not care what comes: the inside of a string, mostly.
//
// There a whole subtree of the vocabulary is allowed at once, unless a special byte is in it.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/grammar/configurations.h"

namespace vt::grammar {

struct Run {
  std::uint64_t bits = 0;   // byte_buckets.h: characters of these all lead on to one configuration,
  std::uint32_t reach = 0;  // and so on for so many characters
};

class Runs {
 public:
  static constexpr std::uint32_t kFarthest = 48;  // no reach is longer than that

  // `configurations` must outlive the object, and stay where it is.
  explicit Runs(Configurations& configurations) : configurations_(configurations) {}

  // Valid until the next call.
  const Run& Of(std::int32_t config) {
    const auto i = static_cast<std::size_t>(config);
    if (i >= entries_.size() || !entries_[i].complete) Complete(config);
    return entries_[i].run;
  }

 private:
  struct Entry {
    Run run;
    std::int32_t next = Configurations::kDead;
    bool has_step = false;  // bits and next are known
    bool complete = false;  // and reach
  };
  const Entry& Step(std::int32_t config);
  bool AllMultibyteLeadTo(std::int32_t from, std::int32_t to);
  void Complete(std::int32_t config);

  Configurations& configurations_;
  std::vector<Entry> entries_;  // by configuration
};

}  // namespace vt::grammar
