// The memory map, and what two plans place differently.
#include "place/plan_map.h"

#include <gtest/gtest.h>

#include <sstream>

#include "place/plan_diff.h"
#include "place/planned_model.h"
#include "support/header_models.h"

namespace vt {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Where a bar of these characters stands: columns [first, last].
std::pair<std::size_t, std::size_t> BarOf(const std::string& line, const char* characters) {
  return {line.find_first_of(characters, 40), line.find_last_of(characters)};
}

MapDevice Quarter() {
  MapDevice device{"hip:0", "a card", {}, 400 * kMiB, "--budget"};
  device.rows = {{"weights.kept", 100 * kMiB, "uploaded"},
                 {"kv.full", 100 * kMiB, "allocated"},
                 {"activations", 100 * kMiB, "allocated"}};
  return device;
}

TEST(MemoryMap, BarsFollowEachOtherUpToTheBudget) {
  const MapDevice device = Quarter();
  EXPECT_EQ(MapScale(device), 400 * kMiB);
  const std::vector<std::string> lines = Lines(MemoryMapText({&device, 1}));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "hip:0: a card");
  EXPECT_NE(lines[1].find("100.0 MiB"), std::string::npos);
  const auto a = BarOf(lines[1], "#"), b = BarOf(lines[2], "#"), c = BarOf(lines[3], "#");
  EXPECT_EQ(b.first, a.second + 1);
  EXPECT_EQ(c.first, b.second + 1);
  // Three quarters of the way to the budget, whose line is the same in every row.
  const std::size_t budget = lines[1].find('|');
  for (std::size_t i = 1; i <= 4; ++i) EXPECT_EQ(lines[i].find('|'), budget) << lines[i];
  EXPECT_NEAR(static_cast<double>(c.second + 1 - a.first),
              0.75 * static_cast<double>(budget - a.first), 1);
  EXPECT_EQ(BarOf(lines[4], "-"), std::pair(a.first, c.second));
  EXPECT_NE(lines[5].find("100.0 MiB left"), std::string::npos) << lines[5];
}

TEST(MemoryMap, WhatPassesTheBudgetIsMarked) {
  MapDevice device = Quarter();
  device.budget_bytes = 200 * kMiB;
  const std::vector<std::string> lines = Lines(MemoryMapText({&device, 1}));
  EXPECT_EQ(lines[1].find('!'), std::string::npos);
  EXPECT_EQ(lines[3].find('#'), std::string::npos) << lines[3];
  EXPECT_NE(lines[3].find('!'), std::string::npos) << lines[3];
  EXPECT_NE(lines[5].find("over by 100.0 MiB"), std::string::npos) << lines[5];
}

TEST(MemoryMap, AFarBudgetLeavesTheRowsVisible) {
  MapDevice device = Quarter();
  device.budget_bytes = std::uint64_t{1} << 42;
  EXPECT_EQ(MapScale(device), device.total_bytes());
  const std::string text = MemoryMapText({&device, 1});
  EXPECT_EQ(text.find('|'), std::string::npos) << text;
  device.budget_bytes.reset();
  EXPECT_NE(MemoryMapText({&device, 1}).find("budget not known"), std::string::npos);
  device.rows.clear();
  EXPECT_NE(MemoryMapText({&device, 1}).find("nothing of the model is here"), std::string::npos);
}

TEST(MemoryMap, FitsATerminalWhateverItsNames) {
  MapDevice device = Quarter();
  device.name = std::string(200, 'x') + " and \x1b[31m many more words that go on and on";
  device.budget_source = std::string(120, 'y') + " less a reserve of 2.00 GiB for the system";
  device.rows.push_back({std::string(40, 'r'), 1, std::string(40, 'h')});
  device.rows.push_back({"kv.window", std::uint64_t{1} << 49, "allocated"});
  for (const std::string& line : Lines(MemoryMapText({&device, 1}))) {
    EXPECT_LE(line.size(), 80u) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
}

TEST(MemoryMap, TheDrawingIsWellFormed) {
  MapDevice device = Quarter();
  device.name = "a \"card\" & <more> " + std::string(300, '&');
  const std::string svg = MemoryMapSvg("A & B", {&device, 1});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(svg.find("<more>"), std::string::npos);
  std::size_t open = 0, closed = 0;
  for (std::size_t at = 0; (at = svg.find("<text", at)) != std::string::npos; ++at) ++open;
  for (std::size_t at = 0; (at = svg.find("</text>", at)) != std::string::npos; ++at) ++closed;
  EXPECT_EQ(open, closed);
  EXPECT_GT(open, 5u);
  // The budget's line at the right edge of the strip.
  EXPECT_NE(svg.find("<line x1=\"944.0\" x2=\"944.0\""), std::string::npos) << svg;
}

TEST(PlanDiff, SaysWhatMoved) {
  const test::Planned spread = test::Spread(test::HeaderModel("gpt-oss-20b"));
  const PlanDocument a = ReadPlanDocument(spread.Write()).value();
  EXPECT_TRUE(DiffPlans(a, a).same());
  test::Planned whole = test::Whole(test::HeaderModel("gpt-oss-20b"));
  whole.request.options.context = 512;
  whole.answer = PlaceWhole(whole.file, whole.spec, whole.request).value();
  const PlanDocument b = ReadPlanDocument(whole.Write()).value();
  const PlanDiff diff = DiffPlans(a, b);
  EXPECT_FALSE(diff.same());
  ASSERT_EQ(diff.settings.size(), 1u);
  EXPECT_EQ(diff.settings[0].name, "context");
  EXPECT_EQ(diff.settings[0].a, "256");
  EXPECT_EQ(diff.settings[0].b, "512");
  // Output, every feed-forward, and the experts of every other layer were elsewhere.
  EXPECT_EQ(diff.parts.size(), 1u + 24u + 12u);
  std::size_t elsewhere = 0;
  for (const PlannedTensor& tensor : a.tensors) elsewhere += tensor.device.value_or("cpu") != "cpu";
  EXPECT_EQ(diff.tensors.size(), elsewhere);
  for (const PlanDiff::Tensor& tensor : diff.tensors) {
    ASSERT_TRUE(tensor.a && tensor.b);
    EXPECT_EQ(tensor.b->device, "cpu");
  }
  for (const PlanDiff::Row& row : diff.rows) EXPECT_NE(row.a_bytes, row.b_bytes);
  EXPECT_EQ(diff.budgets.size(), 2u);  // of the two devices that the second plan does not have
}

}  // namespace
}  // namespace vt
