// Text for people: where lines break, and what a terminal never gets.
#include "base/text_layout.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/size_text.h"

namespace vt {
namespace {

const std::string kWord(30, 'w');

TEST(TextLayout, LinesBreakAtWordsAndNeverPassTheTerminal) {
  EXPECT_EQ(Wrapped("one two", 0, 2), "one two\n");
  EXPECT_EQ(Wrapped("", 0, 2), "\n");
  const std::string three = kWord + " " + kWord + " " + kWord;
  EXPECT_EQ(Wrapped(three, 0, 2), kWord + " " + kWord + "\n  " + kWord + "\n");
  // 19 columns are taken: two words fill the line to its last column, from 20 on they pass it.
  EXPECT_EQ(Wrapped(three, 19, 2), kWord + " " + kWord + "\n  " + kWord + "\n");
  EXPECT_EQ(Wrapped(three, 20, 4), kWord + "\n    " + kWord + " " + kWord + "\n");
  EXPECT_EQ(Wrapped(std::string(100, 'x'), 0, 2),
            std::string(78, 'x') + "\n  " + std::string(22, 'x') + "\n");
}

TEST(TextLayout, HangingTextBeginsAtItsColumn) {
  EXPECT_EQ(Hanging("a:", 6, "b c"), "a:    b c\n");
  EXPECT_EQ(Hanging("a:", 6, ""), "a:\n");
  EXPECT_EQ(Hanging("a longer head", 6, "b"), "a longer head\n      b\n");
  EXPECT_EQ(Hanging("a:", 30, kWord + " " + kWord),
            "a:" + std::string(28, ' ') + kWord + "\n" + std::string(30, ' ') + kWord + "\n");
}

TEST(TextLayout, CellsKeepTheirWidth) {
  EXPECT_EQ(Left("ab", 4), "ab  ");
  EXPECT_EQ(Right("ab", 4), "  ab");
  EXPECT_EQ(Left("abcdef", 4), "abc~");
  EXPECT_EQ(Right("abcdef", 4), "abc~");
}

TEST(TextLayout, WhatATerminalWouldObeyIsNotPrinted) {
  EXPECT_EQ(Printable("a\x1b[31m\tb\x7f"), "a [31m b ");
  EXPECT_EQ(Printable("caf\xC3\xA9 \xFF"), "caf\xC3\xA9 \xEF\xBF\xBD");
}

TEST(SizeText, PicksAUnitAndSigns) {
  EXPECT_EQ(SizeText(std::uint64_t{1}), "1 byte");
  EXPECT_EQ(SizeText(std::uint64_t{1023}), "1023 bytes");
  EXPECT_EQ(SizeText(std::uint64_t{12595}), "12.3 KiB");
  EXPECT_EQ(SizeText(std::uint64_t{380} << 20), "380.0 MiB");
  EXPECT_EQ(SizeText(std::uint64_t{58} << 30), "58.00 GiB");
  EXPECT_EQ(SizeText(-(std::int64_t{3} << 39)), "-1.50 TiB");
  EXPECT_EQ(SignedDifference(5, 7), -2);
  EXPECT_EQ(SignedDifference(~std::uint64_t{0}, 0), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace vt
