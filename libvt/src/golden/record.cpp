#include "golden/record.h"

#include <algorithm>
#include <cmath>

#include "golden/replay.h"

namespace vt {
namespace {

GoldenRow RowOf(std::span<const float> logits, std::size_t top_k) {
  if (top_k > 0) return TopRow(logits, top_k);
  GoldenRow row;
  row.dense.assign(logits.begin(), logits.end());
  row.lse = LogSumExp(logits);
  return row;
}

Status CheckFinite(std::span<const float> logits, std::size_t row) {
  const auto bad =
      std::find_if(logits.begin(), logits.end(), [](float v) { return !std::isfinite(v); });
  if (bad == logits.end()) return {};
  return {Code::kNo, "row " + std::to_string(row) + ": logit of token " +
                         std::to_string(bad - logits.begin()) +
                         " is not finite; no golden can be made of that"};
}

}  // namespace

Result<std::vector<GoldenCase>> RecordCases(Engine& engine,
                                            const std::vector<RecordPrompt>& prompts,
                                            const RecordOptions& options, const CheckWatch& watch) {
  std::size_t total = 0;
  for (const RecordPrompt& prompt : prompts) total += prompt.tokens.size() + prompt.max_tokens;
  std::size_t done = 0;
  std::vector<GoldenCase> cases;
  for (const RecordPrompt& prompt : prompts) {
    GoldenCase one;
    one.name = prompt.name;
    one.prompt_text = prompt.text;
    one.prompt = prompt.tokens;
    const RowSink sink = [&](std::size_t row, std::span<const float> logits) {
      if (watch.cancel && *watch.cancel) return Status(Code::kInterrupted, "interrupted");
      VT_RETURN_IF_ERROR(CheckFinite(logits, row));
      (row < one.prompt.size() ? one.rows : one.generated_rows)
          .push_back(RowOf(logits, options.top_k));
      if (watch.progress) watch.progress(++done, total);
      return Status();
    };
    const Chooser choose = [&](std::size_t index, std::span<const float> logits) {
      if (index >= prompt.max_tokens) return kNoToken;
      const GoldenRow best = TopRow(logits, 2);
      const TokenId id = best.top[0].first;
      one.generated.push_back(id);
      one.margins.push_back(best.top.size() > 1 ? best.top[0].second - best.top[1].second : NAN);
      const bool ends = std::find(options.end_tokens.begin(), options.end_tokens.end(), id) !=
                        options.end_tokens.end();
      // After the last token nothing is asked.
      return ends || index + 1 == prompt.max_tokens ? kNoToken : id;
    };
    if (options.checkpoints) options.checkpoints->Clear();
    const Status status = ReplayAndContinue(engine, prompt.tokens, 0, sink, choose);
    if (!status.ok()) return status.Annotate("case " + ValidUtf8(prompt.name));
    if (options.checkpoints) one.checkpoints = options.checkpoints->Take();
    cases.push_back(std::move(one));
  }
  return cases;
}

GoldenModel DescribeModel(const GgufFile& file, std::int64_t vocab) {
  GoldenModel model;
  std::string name = file.shards().front().path;
  name.erase(0, name.find_last_of('/') + 1);
  model.file = std::move(name);
  model.digest = file.HeaderDigest();
  model.content_digest = file.ContentDigest();
  model.vocab = vocab;
  return model;
}

}  // namespace vt
