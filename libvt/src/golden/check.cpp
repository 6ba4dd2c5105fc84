#include "golden/check.h"

#include <algorithm>

#include "golden/replay.h"
#include "golden/sha256.h"

namespace vt {

const std::string& FileDigests::Header() {
  if (!header_) header_ = file_.HeaderDigest();
  return *header_;
}

const std::string& FileDigests::Content() {
  if (!content_) content_ = file_.ContentDigest();
  return *content_;
}

const std::string& FileDigests::Sha256Hex() {
  if (!sha256_) {
    Sha256 sum;
    for (const GgufShard& shard : file_.shards()) {
      if (!shard.computed) sum.Add({shard.base, shard.file_bytes});
    }
    sha256_ = sum.HexDigest();
  }
  return *sha256_;
}

std::vector<DigestCheck> CompareDigests(const GoldenModel& golden, FileDigests& file) {
  std::vector<DigestCheck> checks;
  if (golden.digest) checks.push_back({"digest", *golden.digest, file.Header()});
  if (!checks.empty() && !checks.back().same()) return checks;
  if (golden.content_digest) {
    checks.push_back({"content_digest", *golden.content_digest, file.Content()});
  } else if (golden.sha256) {
    checks.push_back({"sha256", *golden.sha256, file.Sha256Hex()});
  }
  return checks;
}

Status CheckDigests(const GoldenModel& golden, const std::vector<DigestCheck>& digests) {
  for (const DigestCheck& one : digests) {
    if (one.same()) continue;
    return Status(Code::kInvalid,
                  "golden of another model" + (golden.file ? " (" + *golden.file + ")" : "") +
                      ": its " + one.kind + " is " + ValidUtf8(one.golden) + ", this file's " +
                      one.model + "; give that model, or --any-digest to compare anyway",
                  "/model/" + one.kind);
  }
  return {};
}

EngineOptions EngineOptionsFor(const Golden& golden, EngineOptions options) {
  for (const GoldenCase& one : golden.cases) {
    options.context =
        std::max<std::uint64_t>(options.context, one.prompt.size() + one.generated.size());
  }
  constexpr std::int64_t kMostRows = 16;
  if (options.logit_rows == 0) options.logit_rows = std::min(kMostRows, options.ubatch);
  return options;
}

Result<std::vector<CaseReport>> CheckCases(const Golden& golden, Engine& engine,
                                           const Tokenizer* tokenizer, const CheckLimits& limits,
                                           const CheckWatch& watch) {
  VT_RETURN_IF_ERROR(CheckGoldenIds(golden, engine.spec().vocab));
  std::size_t total = 0;
  for (const GoldenCase& one : golden.cases) {
    total += one.prompt.size() + std::max<std::size_t>(one.generated.size(), 1) - 1;
  }
  if (HasCheckpoints(golden) && !watch.checkpoints) return InternalError("no checkpoint recorder");
  std::size_t done = 0;
  std::vector<CaseReport> reports;
  for (const GoldenCase& one : golden.cases) {
    CaseChecker checker(one, limits, tokenizer);
    if (watch.checkpoints) watch.checkpoints->Clear();
    const Status status = Replay(engine, one.prompt, one.generated, 0,
                                 [&](std::size_t row, std::span<const float> logits) {
                                   if (watch.cancel && *watch.cancel) {
                                     return Status(Code::kInterrupted, "interrupted");
                                   }
                                   checker.Take(row, logits);
                                   if (watch.progress) watch.progress(++done, total);
                                   return Status();
                                 });
    if (!status.ok()) return status.Annotate("case " + ValidUtf8(one.name));
    if (watch.checkpoints) checker.TakeCheckpoints(watch.checkpoints->Take());
    reports.push_back(checker.Finish());
  }
  return reports;
}

}  // namespace vt
