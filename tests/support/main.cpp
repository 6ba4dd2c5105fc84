// Runs the tests of one program and counts those that a missing file kept from running.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "support/test_files.h"

namespace {

class NotRunCounter : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { vt::test::BeginTest(); }
  void OnTestEnd(const testing::TestInfo& info) override {
    const testing::TestResult& result = *info.result();
    for (int i = 0; i < result.test_property_count(); ++i) {
      const testing::TestProperty& property = result.GetTestProperty(i);
      if (std::strcmp(property.key(), "not_run") == 0) {
        std::printf("not run: needs %s (%s.%s)\n", property.value(), info.test_suite_name(),
                    info.name());
        ++count_;
      }
    }
  }
  void OnTestProgramEnd(const testing::UnitTest&) override {
    if (count_ > 0) std::printf("not run: %d tests need files this machine lacks\n", count_);
  }
  int count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new NotRunCounter);
  int failed = RUN_ALL_TESTS();
  for (const std::string& path : vt::test::MissingRequiredFiles()) {
    std::printf("required (VT_REQUIRE_FILES) but missing: %s; run scripts/fetch-models\n",
                path.c_str());
    failed = 1;
  }
  return failed;
}
