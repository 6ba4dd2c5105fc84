// vt-bench compare: two commands by turns, or two records.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/json.h"
#include "base/utc_time.h"
#include "base/whole_file.h"
#include "bench/shell_command.h"
#include "cli/bench_compare_record.h"

namespace vt::cli {
namespace {

std::vector<Flag> Table(CompareOptions* o) {
  std::vector<Flag> t;
  t.push_back(NameFlag(BenchRow("a", "CMD", "a shell command that prints a result"), &o->a));
  t.push_back(NameFlag(BenchRow("b", "CMD", "the one to compare with it"), &o->b));
  t.push_back(IntegerFlag(BenchRow("pairs", "N", "of runs at least, in the order AB BA .."),
                          &o->pairs, 1, 1000));
  t.push_back(IntegerFlag(
      WithDefault("40, or --pairs",
                  BenchRow("most-pairs", "N", "while the interval is wider than +-noise")),
      &o->most_pairs, 1, 1000));
  t.push_back(IntegerFlag(BenchRow("quiet-wait", "S", "seconds a pair waits for a quiet machine"),
                          &o->quiet_wait_s, 0, 86400));
  t.push_back(
      RealFlag(WithDefault("1", BenchRow("noise", "P", "percent of difference that never counts")),
               &o->noise_percent));
  t.push_back(IntegerFlag(BenchRow("seed", "N", "of the bootstrap's draws"), &o->seed, 0));
  t.push_back(SwitchFlag(
      BenchRow("expect-different-kernels", "", "exit 1 unless the arms launch different ones"),
      &o->different_kernels));
  t.push_back(SwitchFlag(BenchRow("strict", "", "exit 1 when B is slower, or void or disturbed"),
                         &o->strict));
  AddOutputFlags(t, &o->output, "also the record (JSON), kept as it grows");
  AddTableFlag(t, &o->output);
  t.push_back(NameFlag(BenchRow("sysroot", "DIR", ""), &o->sysroot));
  return t;
}

// What the legs of an arm say about it: its first run, and the voids of all that count.
RatesDocument ArmOf(const std::vector<Leg>& legs, char arm) {
  RatesDocument document;
  std::set<std::string> voids;
  for (const Leg& leg : legs) {
    if (leg.arm != arm) continue;
    if (document.axes.empty()) document = leg.rates;
    document.partial = document.partial || leg.rates.partial;
    if (leg.counts) voids.insert(leg.rates.voids.begin(), leg.rates.voids.end());
  }
  document.voids.assign(voids.begin(), voids.end());
  return document;
}

void Judge(const CompareOptions& options, Comparison& c) {
  const std::uint64_t seed = static_cast<std::uint64_t>(options.seed);
  const bool commands = options.files.empty();
  if (commands) {
    c.a = ArmOf(c.legs, 'a');
    c.b = ArmOf(c.legs, 'b');
  }
  c.axes = commands ? CompareLegs(c.legs, options.noise(), seed)
                    : CompareRecords(c.a, c.b, options.noise(), seed);
  if (c.a.axes.empty() || c.b.axes.empty()) return;
  c.doubts = Doubts(c.a, c.b);
  if (commands) {
    for (std::string& doubt : DoubtsOfLegs(c.legs, c.axes, options.noise())) {
      c.doubts.push_back(std::move(doubt));
    }
  }
  if (options.different_kernels) c.arm_check = CheckArms(c.a, c.b);
}

Status CheckOptions(const CompareOptions& options) {
  if (!(options.noise_percent >= 0 && options.noise_percent < 100)) {
    return InvalidError("--noise: a percentage of 0 to 100");
  }
  if (options.files.empty()) {
    if (!options.a.empty() && !options.b.empty()) return {};
    return InvalidError("compare: needs two arms; write --a 'CMD' --b 'CMD', or A.json B.json");
  }
  if (!options.a.empty() || !options.b.empty()) {
    return InvalidError("compare: takes two commands or two records, not both");
  }
  if (options.files.size() != 2) {
    return InvalidError("compare: takes two records (" + std::to_string(options.files.size()) +
                        " given); write vt-bench compare A.json B.json");
  }
  return {};
}

// Sleeps; false when interrupted.
bool Nap(double seconds, const Console& console) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (console.interrupted()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

Result<Leg> RunLeg(const CompareOptions& options, Console& console, int turn) {
  Leg leg{.arm = ArmOfTurn(turn), .pair = turn / 2, .wall_ns = 0, .rates = {}};
  const std::string& command = leg.arm == 'a' ? options.a : options.b;
  const HostReading before = ReadHost(options.sysroot);
  VT_ASSIGN_OR_RETURN(const CommandOutput output,
                      RunShellCommand(command, console.interrupted_flag()));
  leg.host = JudgeHost(before, ReadHost(options.sysroot), HostProcessors());
  leg.wall_ns = output.wall_ns;
  Result<RatesDocument> rates = ParseRates(output.out);
  if (!rates.ok()) return rates.status().Annotate("command \"" + ValidUtf8(command) + "\"");
  leg.rates = std::move(*rates);
  return leg;
}

Status Keep(const CompareOptions& options, const Comparison& c) {
  if (options.output.file.empty()) return {};
  return WriteWhole(options.output.file, CompareDocument(options, c) + "\n");
}

// Two legs. With a wait, the pair is measured again until both were quiet or the time is over.
Status RunPair(const CompareOptions& options, Console& console, int* pair, Comparison& c) {
  double left_s = static_cast<double>(options.quiet_wait_s);
  while (true) {
    if (options.quiet_wait_s > 0) {
      const QuietGate gate = AwaitQuiet(
          left_s, HostProcessors(), [&] { return ReadHost(options.sysroot); },
          [&](double seconds) { return Nap(seconds, console); });
      left_s -= gate.waited_s;
    }
    bool quiet = true;
    for (int turn = 2 * *pair; turn < 2 * *pair + 2; ++turn) {
      VT_ASSIGN_OR_RETURN(Leg leg, RunLeg(options, console, turn));
      quiet = quiet && leg.host.quiet;
      left_s -= leg.host.wall_s;
      c.legs.push_back(std::move(leg));
      Judge(options, c);
      VT_RETURN_IF_ERROR(Keep(options, c));
    }
    ++*pair;
    if (quiet || left_s <= 0) return {};
    for (std::size_t i = c.legs.size() - 2; i < c.legs.size(); ++i) c.legs[i].counts = false;
    Judge(options, c);
  }
}

Status RunLegs(const CompareOptions& options, Console& console, Comparison& c) {
  int pair = 0;
  for (std::int64_t counted = 0; counted < options.most_pairs; ++counted) {
    if (counted >= options.pairs && Resolved(c.axes, options.noise())) break;
    const std::int64_t total = counted < options.pairs ? options.pairs : options.most_pairs;
    console.Progress("comparing", static_cast<std::uint64_t>(counted),
                     static_cast<std::uint64_t>(total));
    VT_RETURN_IF_ERROR(RunPair(options, console, &pair, c));
    if (c.axes.empty()) {
      return InvalidError(
          "compare: the two commands have no axis in common (A: " + c.a.axes.front().axis +
          ", B: " + c.b.axes.front().axis + "); let both measure the same -p and -n");
    }
  }
  return {};
}

Result<RatesDocument> ReadRecord(const std::string& path, Console& console) {
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, console.interrupted_flag()));
  Result<RatesDocument> rates = ParseRates(text);
  if (!rates.ok()) return rates.status().Annotate(ValidUtf8(path));
  return rates;
}

Status Measure(const CompareOptions& options, Console& console, Comparison& c) {
  if (options.files.empty()) return RunLegs(options, console, c);
  VT_ASSIGN_OR_RETURN(c.a, ReadRecord(options.files[0], console));
  VT_ASSIGN_OR_RETURN(c.b, ReadRecord(options.files[1], console));
  Judge(options, c);
  if (c.axes.empty()) return InvalidError("compare: the two records have no axis in common");
  return {};
}

int ExitOf(const CompareOptions& options, const Comparison& c) {
  if (c.arm_check && !c.arm_check->passed) return 1;
  if (!options.strict) return 0;
  for (const AxisComparison& axis : c.axes) {
    if (axis.verdict == SpeedVerdict::kSlower) return 1;
  }
  const bool disturbed = std::any_of(c.legs.begin(), c.legs.end(),
                                     [](const Leg& leg) { return leg.counts && !leg.host.quiet; });
  return c.a.voids.empty() && c.b.voids.empty() && !disturbed ? 0 : 1;
}

}  // namespace

Result<int> BenchCompareCommand(std::span<const std::string_view> args, Console& console) {
  CompareOptions options;
  const std::vector<Flag> table = Table(&options);
  GivenFlags given;
  VT_ASSIGN_OR_RETURN(
      const bool helped,
      ParseBenchFlags(args, table,
                      "usage: vt-bench compare --a 'CMD' --b 'CMD' [flags]\n"
                      "       vt-bench compare A.json B.json [flags]\n",
                      "Commands print vt-bench run --json, or llama-bench -o json or jsonl.\n"
                      "Docs: docs/howto/bench.md\n",
                      console, &options.files, &given));
  if (helped) return 0;
  // Who asks for a number of pairs gets that number.
  if (given.contains("pairs") && !given.contains("most-pairs")) options.most_pairs = options.pairs;
  options.most_pairs = std::max(options.most_pairs, options.pairs);
  VT_RETURN_IF_ERROR(CheckOptions(options));
  if (!options.output.file.empty()) VT_RETURN_IF_ERROR(CheckWritable(options.output.file));
  Comparison comparison;
  comparison.date = UtcNow();
  const Status status = Measure(options, console, comparison);
  console.ClearProgress();
  comparison.partial = !status.ok();
  comparison.partial_reason = status.message();
  if (!status.ok() && comparison.legs.empty()) return status;
  const std::string document = CompareDocument(options, comparison) + "\n";
  if (!options.output.file.empty()) {
    VT_RETURN_IF_ERROR(WriteWhole(options.output.file, document));
  }
  VT_RETURN_IF_ERROR(
      console.Write(options.output.json_wanted() ? document : CompareTable(comparison)));
  if (!status.ok()) {
    console.Print("vt-bench: error: " + status.message() + "; the record is partial\n");
    return ExitCode(status.code());
  }
  return ExitOf(options, comparison);
}

}  // namespace vt::cli
