// Search for codebook entries: which entries, multiples and block scale give the values of a block.
//
// At scale a, an entry g stands for values x with the error |x|^2 + a^2 |g|^2 - 2 a <x, g>. So of
// all entries of the same norm only the one with the largest product <x, g> can be the best, and of
// those few only the ones on the upper hull of product over norm: they are found once, and then the
// best entry at any scale is read from the hull.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cpu/quants/codebooks.h"

namespace vt {

// The entries of a codebook in order of their norm.
class CodebookOrder {
 public:
  // Values are the bytes of the entries (signed) plus `shift`.
  template <class Entry, int kCount>
  CodebookOrder(const Codebook<Entry, kCount>& codebook, float shift)
      : CodebookOrder(codebook.entries, sizeof(Entry), kCount, shift) {}

  // Places [begin, end) of the entries of one norm; norms rise.
  struct Class {
    float norm;
    int begin, end;
  };
  const std::vector<Class>& classes() const { return classes_; }
  std::uint16_t entry(int place) const { return entries_[static_cast<std::size_t>(place)]; }
  float largest() const { return largest_; }  // magnitude of the values
  float least() const { return least_; }

  // out[place] = <x, entry>; with `flip`, less twice the least x[i] * entry[i]: the product after
  // the sign of that value is changed, where no x is negative.
  void Products(const float* x, bool flip, float* out) const;

 private:
  CodebookOrder(const void* entries, std::size_t width, int count, float shift);

  int width_;
  float largest_ = 0, least_ = 1e9f;
  std::vector<float> columns_;  // [width][count]
  std::vector<Class> classes_;
  std::vector<std::uint16_t> entries_;
};

// Scale n of a sub-block stands for a = d * step * (2 n + 1), n < multiples.
struct CodebookFormat {
  int units;  // that a block is made of, alike in size
  int subs;   // sub-blocks, of units / subs units each
  int parts;  // entries of a unit
  int multiples;
  float step;
};

class CodebookSearch {
 public:
  explicit CodebookSearch(const CodebookFormat& format) : format_(format) {}

  // Adds an alternative for a unit, of which the best will be taken: its parts follow, in order,
  // as one AddPart each. Units come in order, each with one alternative or more.
  void AddAlternative(int unit);
  void AddPart(const CodebookOrder& order, const float* x, bool flip);

  struct Answer {
    float d = 0;                              // an f16
    std::array<int, 16> multiples{};          // n of each sub-block
    std::array<int, 64> alternatives{};       // of each unit
    std::array<std::uint16_t, 64> entries{};  // [units][parts]
  };
  // `largest`: magnitude of the values of each sub-block, [subs].
  Answer Find(const float* largest) const;

 private:
  struct Line {
    float norm, product;
    std::uint16_t entry;
  };
  static float Largest(const float* begin, const float* end);
  struct Part {
    int begin, end;  // in lines_, norms and products rising
  };
  struct Sums {
    double error = 0;  // less that of no values at all
    double squares = 0, cross = 0;
  };
  struct Fit;
  const Line& LineAt(int part, float scale, float* value) const;
  Sums At(int sub, float scale, Answer* answer) const;
  Fit FitBlock(const double* scales, float d, Answer* answer) const;

  CodebookFormat format_;
  float values_largest_ = 1, values_least_ = 1;  // of the codebooks, which are alike in this
  std::vector<Line> lines_;
  std::vector<Part> parts_;                  // format_.parts for each alternative
  std::array<int, 65> first_alternative_{};  // of each unit
  int units_ = 0, alternatives_ = 0;
};

}  // namespace vt
