// The codebooks of the IQ block formats: each entry is a small group of weight magnitudes (for IQ1:
// signed weights), stored as packed level numbers, first value in the lowest bits.
//
// The entries are data of the formats (ggml's iq*_grid tables).
#pragma once

#include <cstdint>

namespace vt {

// 8 values of 2 bits: level 0, 1, 2 stands for weight -1, 0, 1. Used by IQ1_S and IQ1_M.
extern const std::uint16_t kIq1Grid[2048];

// 8 values of 2 bits, levels of kIq2Levels.
inline constexpr std::uint8_t kIq2Levels[3] = {8, 25, 43};
extern const std::uint16_t kIq2XxsGrid[256];
extern const std::uint16_t kIq2XsGrid[512];
extern const std::uint16_t kIq2SGrid[1024];

// 4 values of 3 bits, levels of kIq3XxsLevels or kIq3SLevels.
inline constexpr std::uint8_t kIq3XxsLevels[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr std::uint8_t kIq3SLevels[8] = {1, 3, 5, 7, 9, 11, 13, 15};
extern const std::uint16_t kIq3XxsGrid[256];
extern const std::uint16_t kIq3SGrid[512];

}  // namespace vt
