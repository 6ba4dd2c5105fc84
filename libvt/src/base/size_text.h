// Sizes in messages.
#pragma once

#include <cstdint>
#include <string>

namespace vt {

// "58.00 GiB", "380.0 MiB", "12.3 KiB", "17 bytes"; "-7.36 GiB".
std::string SizeText(std::int64_t bytes);
std::string SizeText(std::uint64_t bytes);

// a - b where that may be negative; held to the range of the type.
std::int64_t SignedDifference(std::uint64_t a, std::uint64_t b);

}  // namespace vt
