// SHA-256 (FIPS 180-4), for model files whose golden names them so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace vt {

class Sha256 {
 public:
  void Add(std::span<const std::byte> bytes);
  std::string HexDigest();  // ends the message; call once

 private:
  void Block(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> held_ = {};
  std::size_t held_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace vt
