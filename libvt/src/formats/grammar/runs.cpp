#include "formats/grammar/runs.h"

#include <algorithm>
#include <array>

#include "formats/grammar/byte_buckets.h"

namespace vt::grammar {
namespace {

// Where fewer kinds of bytes lead on, following them one by one is as quick.
constexpr int kFewestBuckets = 16;

struct LeadBytes {
  unsigned first, last;  // first bytes of characters
  unsigned second_min, second_max;
  int more;  // bytes after the second
};
// Table 3-7 of the Unicode standard.
constexpr LeadBytes kLeads[] = {{0xC2, 0xDF, 0x80, 0xBF, 0}, {0xE0, 0xE0, 0xA0, 0xBF, 1},
                                {0xE1, 0xEC, 0x80, 0xBF, 1}, {0xED, 0xED, 0x80, 0x9F, 1},
                                {0xEE, 0xEF, 0x80, 0xBF, 1}, {0xF0, 0xF0, 0x90, 0xBF, 2},
                                {0xF1, 0xF3, 0x80, 0xBF, 2}, {0xF4, 0xF4, 0x80, 0x8F, 2}};

// All of `first`..`last`, and `more` further bytes after each, lead from one configuration to `to`.
bool AllLeadTo(Configurations& configurations, std::int32_t from, unsigned first, unsigned last,
               int more, std::int32_t to) {
  std::int32_t before = Configurations::kDead;
  for (unsigned byte = first; byte <= last; ++byte) {
    const std::int32_t next = configurations.Next(from, static_cast<unsigned char>(byte));
    if (next == Configurations::kDead) return false;
    if (more == 0) {
      if (next != to) return false;
    } else if (next != before && !AllLeadTo(configurations, next, 0x80, 0xBF, more - 1, to)) {
      return false;
    }
    before = next;
  }
  return true;
}

}  // namespace

bool Runs::AllMultibyteLeadTo(std::int32_t from, std::int32_t to) {
  for (const LeadBytes& lead : kLeads) {
    std::int32_t before = Configurations::kDead;
    for (unsigned byte = lead.first; byte <= lead.last; ++byte) {
      const std::int32_t next = configurations_.Next(from, static_cast<unsigned char>(byte));
      if (next == Configurations::kDead) return false;
      if (next != before &&
          !AllLeadTo(configurations_, next, lead.second_min, lead.second_max, lead.more, to)) {
        return false;
      }
      before = next;
    }
  }
  return true;
}

const Runs::Entry& Runs::Step(std::int32_t config) {
  const auto i = static_cast<std::size_t>(config);
  if (i >= entries_.size()) entries_.resize(i + i / 2 + 1);
  Entry& entry = entries_[i];
  if (entry.has_step) return entry;
  entry.has_step = true;
  std::array<std::int32_t, 128> next;
  for (unsigned byte = 0; byte < next.size(); ++byte) {
    next[byte] = configurations_.Next(config, static_cast<unsigned char>(byte));
  }
  // The configuration that most bytes lead to.
  std::array<std::int32_t, 128> sorted = next;
  std::sort(sorted.begin(), sorted.end());
  std::size_t most = 0;
  for (std::size_t from = 0, to = 0; from < sorted.size(); from = to) {
    while (to < sorted.size() && sorted[to] == sorted[from]) ++to;
    if (sorted[from] == Configurations::kDead || to - from <= most) continue;
    most = to - from;
    entry.next = sorted[from];
  }
  if (entry.next == Configurations::kDead) return entry;
  std::uint64_t bits = (std::uint64_t{1} << kBuckets) - 1;
  for (unsigned byte = 0; byte < next.size(); ++byte) {
    if (next[byte] != entry.next) bits &= ~(std::uint64_t{1} << BucketOf(byte));
  }
  if (std::popcount(bits) < kFewestBuckets) return entry;
  if (AllMultibyteLeadTo(config, entry.next)) bits |= kMultibyte;
  entry.run.bits = bits;
  return entry;
}

void Runs::Complete(std::int32_t config) {
  const std::uint64_t bits = Step(config).run.bits;
  std::uint32_t reach = 0;
  if (bits != 0) {
    std::int32_t now = config;
    for (; reach < kFarthest; ++reach) {
      const Entry& entry = Step(now);
      if ((entry.run.bits & bits) != bits) break;
      if (entry.next == now) {
        reach = kFarthest;
        break;
      }
      now = entry.next;
    }
  }
  Entry& entry = entries_[static_cast<std::size_t>(config)];
  entry.run.reach = reach;
  entry.complete = true;
}

}  // namespace vt::grammar
