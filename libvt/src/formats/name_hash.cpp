#include "formats/name_hash.h"

#include <sys/random.h>
#include <xxhash.h>

#include <cstdint>

namespace vt {
namespace {

std::uint64_t ProcessSeed() {
  std::uint64_t seed = 0;
  // On failure the seed stays 0: names are then found just the same.
  if (::getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0) seed = 0;
  return seed;
}

}  // namespace

std::size_t NameHash::operator()(std::string_view name) const {
  static const std::uint64_t seed = ProcessSeed();
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

}  // namespace vt
