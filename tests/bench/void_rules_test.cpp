#include "bench/void_rules.h"

#include <gtest/gtest.h>

#include "bench/bench_export.h"
#include "bench/bench_page.h"

namespace vt {
namespace {

// Rates in the order they were measured.
BenchResult Result512(const std::vector<double>& rates) {
  BenchResult result;
  result.test = {.kind = BenchKind::kPrefill, .n_prompt = 512};
  for (const double rate : rates) {
    result.samples_ns.push_back(static_cast<std::uint64_t>(512e9 / rate));
  }
  return result;
}

BenchRecord GoodRecord() {
  BenchRecord record;
  record.partial = false;
  record.launches = {{"matmul", "cpu", "cpu.avx2.q15", "native", 10}};
  record.change.emplace().other_load_cpus = 0.01;
  record.results = {Result512({100, 101, 99, 100, 100})};
  return record;
}

std::vector<std::string> Codes(const BenchRecord& record) {
  std::vector<std::string> codes;
  for (const BenchVoid& one : JudgeRecord(record)) {
    codes.push_back(one.code + (one.axis.empty() ? "" : " " + one.axis));
  }
  return codes;
}

using Names = std::vector<std::string>;

TEST(VoidRules, AGoodRecordCounts) { EXPECT_EQ(Codes(GoodRecord()), Names{}); }

TEST(VoidRules, EachReasonHasItsCode) {
  BenchRecord record = GoodRecord();
  record.launches.push_back({"rope", "cpu", "cpu.scalar.f32", "reference", 3});
  EXPECT_EQ(Codes(record), Names{"reference_launch"});
  record = GoodRecord();
  record.launches.push_back({"rms_norm_add", "cpu", "cpu.composed", "composed", 3});
  EXPECT_EQ(Codes(record), Names{});
  record.settings.tier = "native";
  EXPECT_EQ(Codes(record), Names{"fallback"});
  record.settings.tier = "composed";
  EXPECT_EQ(Codes(record), Names{});
  record.launches.back().launches = 0;
  record.settings.tier = "native";
  EXPECT_EQ(Codes(record), Names{});

  record = GoodRecord();
  record.golden_file = "g.json";
  EXPECT_EQ(Codes(record), Names{});
  record.golden_failure = "case a: wrong";
  EXPECT_EQ(Codes(record), Names{"golden_failed"});
  record = GoodRecord();
  record.settings.slow_down_percent = 3;
  EXPECT_EQ(Codes(record), Names{"slowed_down"});
  record = GoodRecord();
  record.change->quiet = false;
  EXPECT_EQ(Codes(record), Names{"disturbed_host"});
  record = GoodRecord();
  record.gate = QuietGate{.found = false, .waited_s = 5, .last = {}};
  EXPECT_EQ(Codes(record), Names{"no_quiet_window"});
  record.gate->found = true;
  EXPECT_EQ(Codes(record), Names{});

  record = GoodRecord();
  record.results.push_back(Result512({100, 120, 80, 110, 90}));
  EXPECT_EQ(Codes(record), Names{"unstable pp512"});
  record.results.back() = Result512({103, 102, 101, 100, 99});
  EXPECT_EQ(Codes(record), Names{"falling_trend pp512"});
}

// Predictions of 100 MiB of the host, of which 10 are a simulated device's, and of 10 of that.
BenchRecord RecordWithPeaks() {
  constexpr std::uint64_t kMib = 1 << 20;
  BenchRecord record = GoodRecord();
  DevicePeaks host;
  host.device = "cpu";
  host.resident = true;
  host.rows_bytes = 50 * kMib;
  host.simulated_bytes = 10 * kMib;
  host.runtime_bytes = 25 * kMib;
  host.margin_bytes = 15 * kMib;
  host.allowance_bytes = kResidentAllowance;
  DevicePeaks sim;
  sim.device = "sim:0";
  sim.rows_bytes = 10 * kMib;
  for (const BenchPhase phase : kBenchPhases) {
    host.At(phase).bytes = 60 * kMib;
    sim.At(phase).bytes = 10 * kMib;
  }
  record.peaks = {host, sim};
  return record;
}

TEST(VoidRules, MemoryAboveThePlanAndWhatIsAllowed) {
  BenchRecord record = RecordWithPeaks();
  EXPECT_EQ(Codes(record), Names{});
  EXPECT_EQ(record.peaks[0].Residual(BenchPhase::kLoad), -(40 << 20));
  record.peaks[0].At(BenchPhase::kDecode).bytes = 164 << 20;
  record.peaks[0].At(BenchPhase::kPrefill) = {std::nullopt, "cannot be read"};
  EXPECT_EQ(Codes(record), Names{});
  EXPECT_EQ(record.peaks[0].Residual(BenchPhase::kPrefill), std::nullopt);
  ++*record.peaks[0].At(BenchPhase::kDecode).bytes;
  ASSERT_EQ(Codes(record), Names{"memory_over_plan"});
  EXPECT_EQ(JudgeRecord(record)[0].message,
            "decode: cpu held 171966465 bytes at most, predicted were 104857600 (rows 52428800, "
            "simulated devices 10485760, runtime 26214400, margin 15728640): 67108865 more, of "
            "which 67108864 are allowed");
  // An allocator counts to the byte.
  record = RecordWithPeaks();
  ++*record.peaks[1].At(BenchPhase::kLoad).bytes;
  ASSERT_EQ(Codes(record), Names{"memory_over_plan"});
  EXPECT_EQ(JudgeRecord(record)[0].message,
            "load: sim:0 held 10485761 bytes at most, predicted were 10485760 (rows 10485760): 1 "
            "more, of which 0 are allowed");
}

TEST(BenchExport, PeaksStandBesideThePredictionWithTheirSigns) {
  BenchRecord record = RecordWithPeaks();
  record.peaks[0].At(BenchPhase::kPrefill).bytes = 130 << 20;
  record.peaks[1].At(BenchPhase::kDecode) = {std::nullopt, "not reached"};
  const std::string host =
      "cpu, MiB: 100 predicted; load 60 (-40), prefill 130 (+30), decode 60 (-40)";
  const std::string sim =
      "sim:0, MiB: 10.0 predicted; load 10.0 (+0.0), prefill 10.0 (+0.0), decode\n  unknown\n";
  for (const std::string& text : {BenchTable(record), BenchHtml(record)}) {
    EXPECT_NE(text.find(host + "\n"), std::string::npos) << text;
    EXPECT_NE(text.find(sim), std::string::npos) << text;
  }
  EXPECT_NE(BenchMarkdown(record).find("\n\n" + host + "\n"), std::string::npos)
      << BenchMarkdown(record);
}

TEST(BenchRecord, AxesNameWhatIsMeasured) {
  BenchSettings settings;
  settings.depths = {0, 4096};
  settings.batches = {1, 8};
  Names axes;
  for (const BenchTest& test : TestsOf(settings)) axes.push_back(AxisOf(test));
  EXPECT_EQ(axes,
            (Names{"pp512", "pp512@d4096", "tg128", "tg128x8", "tg128@d4096", "tg128x8@d4096"}));
}

TEST(BenchPage, TextOfAModelCannotLeaveItsPlace) {
  BenchRecord record = GoodRecord();
  record.model.name = "<b>\"&</script><script>alert(1)</script>";
  for (const std::string& text : {BenchSvg(record), BenchHtml(record)}) {
    EXPECT_EQ(text.find("<b>"), std::string::npos);
    EXPECT_EQ(text.find("<script>"), std::string::npos);
  }
  const std::string page = BenchHtml(record);
  EXPECT_EQ(page.find("</script>"), page.rfind("</script>"));
  // A mark a sample, a bar and the background.
  std::size_t marks = 0;
  const std::string plot = BenchSvg(record);
  for (std::size_t at = 0; (at = plot.find("<line", at)) != std::string::npos; ++at) ++marks;
  EXPECT_EQ(marks, 5u);
}

TEST(BenchExport, CsvQuotesAndTablesKeepToTheirColumns) {
  BenchRecord record = GoodRecord();
  record.model.file = "a,\"b\".gguf";
  record.model.name = "a | b";
  record.voids = {{"unstable", "pp512", std::string(200, 'x')}};
  EXPECT_NE(BenchCsv(record).find("\r\n\"a,\"\"b\"\".gguf\",,pp512,prefill,512,0,0,1,5,100,"),
            std::string::npos)
      << BenchCsv(record);
  EXPECT_NE(BenchMarkdown(record).find("| a \\| b | pp512 | 100.00 |"), std::string::npos);
  std::size_t column = 0;
  for (const char c : BenchTable(record)) {
    column = c == '\n' ? 0 : column + 1;
    ASSERT_LE(column, 80u);
  }
}

}  // namespace
}  // namespace vt
