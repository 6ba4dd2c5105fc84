#include "golden/invariance.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "golden/replay.h"

namespace vt {
namespace {

// What is kept of a row: enough to see any change of a bit (FNV-1a over the numbers' bits).
std::uint64_t RowHash(std::span<const float> logits) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : logits) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3u;
  }
  return hash;
}

using RowHashes = std::vector<std::vector<std::uint64_t>>;  // [case][row]

// A row that differs, kept whole to be compared in detail.
struct OddRow {
  std::size_t case_index = 0, row = 0;
  std::vector<float> logits;
};

class Variant {
 public:
  Variant(std::string name, const RowHashes& expected) : expected_(expected) {
    report.variant = std::move(name);
  }

  void Take(std::size_t case_index, std::size_t row, std::span<const float> logits) {
    ++report.rows;
    if (RowHash(logits) == expected_[case_index][row]) return;
    if (report.different++ == 0) odd = OddRow{case_index, row, {logits.begin(), logits.end()}};
  }

  VariantReport report;
  std::optional<OddRow> odd;

 private:
  const RowHashes& expected_;
};

Status Cancelled(const CheckWatch& watch) {
  if (watch.cancel && *watch.cancel) return Status(Code::kInterrupted, "interrupted");
  return {};
}

class Invariance {
 public:
  Invariance(const Golden& golden, EngineOptions options, const EngineLoader& load,
             const CheckWatch& watch)
      : golden_(golden), options_(std::move(options)), load_(load), watch_(watch) {}

  Result<InvarianceReport> Run();

 private:
  Status Baseline();
  Status OneByOne(const std::string& name, const EngineOptions& options);
  Status Batch();
  Status PrefixReuse();
  Status Finish(Variant* variant);

  std::vector<TokenId> All(const GoldenCase& one) const {
    std::vector<TokenId> tokens = one.prompt;
    if (!one.generated.empty()) {
      tokens.insert(tokens.end(), one.generated.begin(), one.generated.end() - 1);
    }
    return tokens;
  }

  const Golden& golden_;
  EngineOptions options_;
  const EngineLoader& load_;
  const CheckWatch& watch_;
  RowHashes expected_;
  InvarianceReport report_;
};

Status Invariance::Baseline() {
  VT_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, load_(options_));
  for (const GoldenCase& one : golden_.cases) {
    std::vector<std::uint64_t>& hashes = expected_.emplace_back();
    VT_RETURN_IF_ERROR(Replay(*engine, one.prompt, one.generated, 0,
                              [&](std::size_t, std::span<const float> logits) {
                                hashes.push_back(RowHash(logits));
                                return Cancelled(watch_);
                              }));
    report_.rows += hashes.size();
  }
  return {};
}

// Where a row differs, it is computed again as in the baseline, and the first logit named.
Status Invariance::Finish(Variant* variant) {
  if (variant->odd) {
    const OddRow& odd = *variant->odd;
    const GoldenCase& one = golden_.cases[odd.case_index];
    VT_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, load_(options_));
    VT_RETURN_IF_ERROR(Replay(
        *engine, one.prompt, one.generated, 0, [&](std::size_t row, std::span<const float> want) {
          for (std::size_t i = 0; row == odd.row && i < want.size() && !variant->report.first;
               ++i) {
            if (std::bit_cast<std::uint32_t>(want[i]) ==
                std::bit_cast<std::uint32_t>(odd.logits[i])) {
              continue;
            }
            variant->report.first =
                RowDifference{one.name, row, static_cast<TokenId>(i), want[i], odd.logits[i]};
          }
          return Cancelled(watch_);
        }));
  }
  report_.variants.push_back(variant->report);
  return {};
}

Status Invariance::OneByOne(const std::string& name, const EngineOptions& options) {
  VT_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, load_(options));
  Variant variant(name, expected_);
  for (std::size_t i = 0; i < golden_.cases.size(); ++i) {
    const GoldenCase& one = golden_.cases[i];
    VT_RETURN_IF_ERROR(Replay(*engine, one.prompt, one.generated, 0,
                              [&](std::size_t row, std::span<const float> logits) {
                                variant.Take(i, row, logits);
                                return Cancelled(watch_);
                              }));
  }
  engine.reset();
  return Finish(&variant);
}

// Every sequence at once: prompts in steps of a few tokens, so that prompts and answers of
// different cases share steps.
Status Invariance::Batch() {
  EngineOptions options = options_;
  options.sequences = static_cast<std::int64_t>(golden_.cases.size());
  VT_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, load_(options));
  Variant variant("batch of " + std::to_string(golden_.cases.size()), expected_);
  struct Running {
    std::size_t index;
    SequenceId sequence;
    std::vector<TokenId> tokens;
    std::size_t fed = 0;
  };
  std::vector<Running> running;
  for (std::size_t i = 0; i < golden_.cases.size(); ++i) {
    VT_ASSIGN_OR_RETURN(const SequenceId id, engine->Open({}, nullptr));
    running.push_back({i, id, All(golden_.cases[i])});
  }
  const auto share =
      std::max<std::size_t>(1, static_cast<std::size_t>(engine->options().ubatch) / running.size());
  while (!running.empty()) {
    std::vector<StepTokens> entries;
    for (Running& one : running) {
      StepTokens entry;
      entry.sequence = one.sequence;
      // Unequal pieces, so that the sequences do not march in step.
      const std::size_t most = std::min(share, 3 + 2 * one.index);
      entry.tokens =
          std::span(one.tokens).subspan(one.fed, std::min(most, one.tokens.size() - one.fed));
      entry.all_logits = true;
      entries.push_back(entry);
      if (entries.size() == static_cast<std::size_t>(engine->options().ubatch)) break;
    }
    VT_RETURN_IF_ERROR(engine->Step(
        entries, [&](std::size_t entry, std::size_t token, std::span<const float> logits) {
          variant.Take(running[entry].index, running[entry].fed + token, logits);
          return Cancelled(watch_);
        }));
    for (std::size_t i = 0; i < entries.size(); ++i) running[i].fed += entries[i].tokens.size();
    for (const Running& one : running) {
      if (one.fed == one.tokens.size()) engine->Close(one.sequence);
    }
    std::erase_if(running, [](const Running& one) { return one.fed == one.tokens.size(); });
  }
  engine.reset();
  return Finish(&variant);
}

// Each case twice; the second time its beginning is taken over, and the rows after it compared.
Status Invariance::PrefixReuse() {
  EngineOptions options = options_;
  options.prefix_reuse = true;
  VT_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, load_(options));
  Variant variant("", expected_);
  std::size_t reused = 0;
  for (std::size_t i = 0; i < golden_.cases.size(); ++i) {
    const std::vector<TokenId> tokens = All(golden_.cases[i]);
    for (const bool second : {false, true}) {
      std::size_t begin = 0;
      VT_ASSIGN_OR_RETURN(const SequenceId id, engine->Open(tokens, &begin));
      reused += begin;
      while (begin < tokens.size()) {
        StepTokens entry;
        entry.sequence = id;
        entry.tokens = std::span(tokens).subspan(
            begin,
            std::min(static_cast<std::size_t>(engine->options().ubatch), tokens.size() - begin));
        entry.all_logits = true;
        const Status status = engine->Step(
            {&entry, 1}, [&](std::size_t, std::size_t token, std::span<const float> logits) {
              if (second) variant.Take(i, begin + token, logits);
              return Cancelled(watch_);
            });
        if (!status.ok()) return status;
        begin += entry.tokens.size();
      }
      engine->Close(id);
    }
  }
  variant.report.variant = "prefix reuse of " + std::to_string(reused) + " positions";
  engine.reset();
  return Finish(&variant);
}

Result<InvarianceReport> Invariance::Run() {
  VT_RETURN_IF_ERROR(Baseline());
  std::size_t done = 0;
  const auto progress = [&] {
    constexpr std::size_t kVariants = 7;
    if (watch_.progress) watch_.progress(++done, kVariants);
  };
  for (const int threads : {1, 2}) {
    EngineOptions options = options_;
    options.threads = threads;
    VT_RETURN_IF_ERROR(OneByOne("threads " + std::to_string(threads), options));
    progress();
  }
  for (const std::int64_t ubatch : {1, 7, 512}) {
    EngineOptions options = options_;
    options.ubatch = ubatch;
    options.logit_rows = std::min<std::int64_t>(options.logit_rows, ubatch);
    VT_RETURN_IF_ERROR(OneByOne("ubatch " + std::to_string(ubatch), options));
    progress();
  }
  VT_RETURN_IF_ERROR(Batch());
  progress();
  VT_RETURN_IF_ERROR(PrefixReuse());
  progress();
  return std::move(report_);
}

}  // namespace

bool InvarianceReport::same() const {
  return std::all_of(variants.begin(), variants.end(),
                     [](const VariantReport& one) { return one.different == 0; });
}

Result<InvarianceReport> CheckInvariance(const Golden& golden, const EngineOptions& options,
                                         const EngineLoader& load, const CheckWatch& watch) {
  return Invariance(golden, options, load, watch).Run();
}

void WriteInvariance(const InvarianceReport& report, JsonWriter& json) {
  json.BeginObject().Field("rows", report.rows).Key("variants").BeginArray();
  for (const VariantReport& one : report.variants) {
    json.BeginObject().Field("variant", one.variant).Field("rows", one.rows);
    json.Field("different_rows", one.different).Key("first");
    if (one.first) {
      json.BeginObject().Field("case", one.first->case_name).Field("row", one.first->row);
      json.Field("token", one.first->token).Field("expected", one.first->expected);
      json.Field("got", one.first->got).EndObject();
    } else {
      json.Null();
    }
    json.EndObject();
  }
  json.EndArray().EndObject();
}

std::string InvarianceText(const InvarianceReport& report) {
  std::string text;
  for (const VariantReport& one : report.variants) {
    text += "  " + one.variant + ": " + std::to_string(one.rows - one.different) + "/" +
            std::to_string(one.rows) + " rows the same to the bit";
    if (one.first) {
      text += "; first: case " + ValidUtf8(one.first->case_name) + ", row " +
              std::to_string(one.first->row) + ", token " + std::to_string(one.first->token) +
              ": " + JsonWriter().Value(one.first->expected).Take() + " became " +
              JsonWriter().Value(one.first->got).Take();
    }
    text += "\n";
  }
  return (report.same() ? "invariance: the same in every way\n"
                        : "invariance: NOT the same in every way\n") +
         text;
}

}  // namespace vt
