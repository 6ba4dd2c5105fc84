// The encoders that quantize.cpp chooses from. Each makes one block of the values x (finite, and
// within the type's range); layouts are described where they are decoded (dequant_*.cpp).
#pragma once

#include <cstdint>

namespace vt {

// Bytes of converters.
void EncodeF16(const float* x, std::uint8_t* block);
void EncodeBf16(const float* x, std::uint8_t* block);
void EncodeF8E4M3(const float* x, std::uint8_t* block);  // nearest, ties to even
void EncodeQ4_0(const float* x, std::uint8_t* block);
void EncodeQ4_1(const float* x, std::uint8_t* block);
void EncodeQ5_0(const float* x, std::uint8_t* block);
void EncodeQ5_1(const float* x, std::uint8_t* block);
void EncodeQ8_0(const float* x, std::uint8_t* block);
void EncodeTq1_0(const float* x, std::uint8_t* block);
void EncodeTq2_0(const float* x, std::uint8_t* block);
void EncodeMxfp4(const float* x, std::uint8_t* block);
void EncodeQ1_0(const float* x, std::uint8_t* block);

// A scale times a level.
void EncodeQ2_0(const float* x, std::uint8_t* block);
void EncodeQ3K(const float* x, std::uint8_t* block);
void EncodeQ6K(const float* x, std::uint8_t* block);
void EncodeIq4Nl(const float* x, std::uint8_t* block);
void EncodeIq4Xs(const float* x, std::uint8_t* block);
void EncodeNvfp4(const float* x, std::uint8_t* block);

// A scale times a level, less a minimum.
void EncodeQ2K(const float* x, std::uint8_t* block);
void EncodeQ4K(const float* x, std::uint8_t* block);
void EncodeQ5K(const float* x, std::uint8_t* block);

// A scale times entries of a codebook.
void EncodeIq1S(const float* x, std::uint8_t* block);
void EncodeIq1M(const float* x, std::uint8_t* block);
void EncodeIq2Xxs(const float* x, std::uint8_t* block);
void EncodeIq2Xs(const float* x, std::uint8_t* block);
void EncodeIq2S(const float* x, std::uint8_t* block);
void EncodeIq3Xxs(const float* x, std::uint8_t* block);
void EncodeIq3S(const float* x, std::uint8_t* block);

}  // namespace vt
