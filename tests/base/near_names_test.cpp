#include "base/near_names.h"

#include <gtest/gtest.h>

#include <array>

namespace vt {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"model", "device", "depths", "dtype",
                                                    "threads"};

TEST(NearNames, TheNearestIsThatOfTheFewestEdits) {
  EXPECT_EQ(NearestName("modle", kNames), "model");  // a swap
  EXPECT_EQ(NearestName("dephts", kNames), "depths");
  EXPECT_EQ(NearestName("dtyp", kNames), "dtype");
  EXPECT_EQ(NearestName("", kNames), "model");  // both names of five letters: the first
  EXPECT_EQ(NearestName(std::string(100000, 'x'), kNames), "model");
  EXPECT_EQ(NearestName("x", {}), "");
}

TEST(NearNames, OnlyThoseFewEditsAwayAreListed) {
  EXPECT_EQ(NearNames("devices", kNames), "\"device\"");
  EXPECT_EQ(NearNames("depth", kNames), "\"depths\"");
  EXPECT_EQ(NearNames("quantisation", {}), "");
  EXPECT_EQ(NearNames("qqqqqqq", kNames), "");
  constexpr std::array<std::string_view, 5> kAlike = {"aaaa", "aaab", "aabb", "aaac", "aaad"};
  EXPECT_EQ(NearNames("aaab", kAlike), "\"aaab\", \"aaaa\", \"aabb\"");
}

}  // namespace
}  // namespace vt
