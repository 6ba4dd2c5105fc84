#include "cli/run_records.h"

#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>

#include "base/json_writer.h"
#include "cli/version.h"

namespace vt::cli {
namespace {

constexpr std::string_view kDraft = "draft.";  // begins what is of the draft model

void WriteModel(JsonWriter& json, std::string_view key, const OpenedModel& model) {
  json.Key(key).BeginObject();
  json.Field("file", model.file.shards().front().path).Field("digest", model.file.HeaderDigest());
  json.Field("architecture", model.spec->architecture).Key("name");
  if (model.spec->name.empty()) {
    json.Null();
  } else {
    json.Value(model.spec->name);
  }
  json.EndObject();
}

void WriteDevice(JsonWriter& json, const DeviceInfo& device) {
  json.BeginObject();
  json.Field("id", device.id).Field("kind", NameOf(device.kind)).Field("name", device.name);
  json.Key("features").BeginArray();
  for (const std::string_view feature : FeatureNames(device.features)) json.Value(feature);
  json.EndArray().EndObject();
}

void WriteSettings(JsonWriter& json, const RunOptions& options, std::span<const Flag> table) {
  json.Key("settings").BeginObject();
  for (const Flag& flag : table) {
    if (!flag.show) continue;
    std::string key(flag.name);
    for (char& c : key) c = c == '-' ? '_' : c;
    json.Key(key).BeginObject().Key("value");
    flag.show(json);
    std::string_view origin = "default";
    if (const auto it = options.origins.find(flag.name); it != options.origins.end()) {
      origin = it->second;
    }
    if (options.given.contains(flag.name)) origin = "flag";
    json.Field("origin", origin).EndObject();
  }
  json.EndObject();
}

void WriteEndTokens(JsonWriter& json, const OpenedModel& model) {
  json.Key("end_tokens").BeginArray();
  if (model.tokenizer) {
    for (const TokenizerFacts::EndToken& end : model.tokenizer->facts().end_tokens) {
      json.BeginObject().Field("id", end.id).Field("text", model.tokenizer->raw_text(end.id));
      json.Field("source", end.source).EndObject();
    }
  }
  json.EndArray();
}

void WriteIds(JsonWriter& json, std::string_view key, std::span<const TokenId> ids) {
  json.Key(key).BeginArray();
  for (const TokenId id : ids) json.Value(id);
  json.EndArray();
}

void WriteLogprobs(JsonWriter& json, const GeneratedToken& token) {
  json.Field("logprob", token.logprob).Key("top").BeginArray();
  for (const TokenLogprob& top : token.top) {
    json.BeginObject().Field("id", top.id).Field("logprob", top.logprob).EndObject();
  }
  json.EndArray();
}

// text, ids, stop and the counts: what an end record and a result record share.
void WriteResult(JsonWriter& json, const GenerationResult& result, const ResultForm& form) {
  json.Key("text");
  if (form.has_text) {
    json.Value(result.text);
  } else {
    json.Null();
  }
  WriteIds(json, "ids", result.tokens);
  json.Key("stop").BeginObject().Field("reason", NameOf(result.stop)).Key("detail");
  if (result.stop_detail.empty()) {
    json.Null();
  } else {
    json.Value(result.stop_detail);
  }
  json.EndObject();
  json.Field("prompt_token_count", result.prompt_tokens);
  json.Field("reused_token_count", result.reused_tokens);
  json.Field("token_count", result.tokens.size());
  json.Key("speculation");
  if (form.drafts) {
    json.BeginObject().Field("step_count", result.steps).Field("drafted_count", result.drafted);
    json.Field("accepted_count", result.accepted).EndObject();
  } else {
    json.Null();
  }
}

void WriteNoResult(JsonWriter& json) {
  for (const std::string_view key : {"text", "ids", "stop", "prompt_token_count",
                                     "reused_token_count", "token_count", "speculation"}) {
    json.Key(key).Null();
  }
}

void WriteRates(JsonWriter& json, const GenerationResult& result) {
  const std::size_t computed = result.prompt_tokens - result.reused_tokens;
  const std::size_t after_first = result.tokens.empty() ? 0 : result.tokens.size() - 1;
  json.Field("prompt_ns", result.prompt_ns).Field("decode_ns", result.decode_ns);
  json.Field("prompt_tok_per_s", Rate(computed, result.prompt_ns));
  json.Field("decode_tok_per_s", Rate(after_first, result.decode_ns));
}

// Returns how many launches were of the reference tier.
std::uint64_t WriteLaunches(JsonWriter& json, const Engine& engine, std::string_view prefix) {
  std::uint64_t reference = 0;
  for (const KernelLaunches& row : engine.Launches()) {
    if (row.tier == "reference") reference += row.launches;
    json.BeginObject().Field("op", std::string(prefix) + row.op).Field("device", row.device);
    json.Field("kernel", row.kernel).Field("tier", row.tier);
    json.Field("launches", row.launches).EndObject();
  }
  return reference;
}

void WriteLineHead(JsonWriter& json, std::size_t index, const PromptItem& item) {
  json.BeginObject().Field("type", "result").Field("schema", "vt.run/1");
  json.Field("index", index)
      .Field("line", item.line)
      .Key("id")
      .Raw(item.id.empty() ? "null" : item.id);
}

}  // namespace

std::optional<double> Rate(std::size_t tokens, std::uint64_t ns) {
  if (ns == 0 || tokens == 0) return std::nullopt;
  return static_cast<double>(tokens) * 1e9 / static_cast<double>(ns);
}

ResidentMemory MeasureResidentMemory() {
  ResidentMemory memory;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  memory.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    unsigned long long kib = 0;
    if (std::sscanf(line.c_str(), "RssAnon: %llu kB", &kib) == 1)
      memory.anonymous_bytes = kib * 1024;
    if (std::sscanf(line.c_str(), "RssFile: %llu kB", &kib) == 1) memory.file_bytes = kib * 1024;
  }
  return memory;
}

std::string StartRecord(const RunOptions& options, std::span<const Flag> table,
                        const OpenedModel& model, const OpenedModel* draft_model,
                        const Engine& engine, const GenerationRequest* prompt,
                        std::size_t prompts) {
  JsonWriter json;
  json.BeginObject().Field("type", "start").Field("schema", "vt.run/1");
  WriteTool(json);
  WriteModel(json, "model", model);
  if (draft_model) {
    WriteModel(json, "draft_model", *draft_model);
  } else {
    json.Key("draft_model").Null();
  }
  json.Key("device");
  WriteDevice(json, engine.device());
  json.Key("devices").BeginArray();
  for (const DeviceInfo* device : engine.devices()) WriteDevice(json, *device);
  json.EndArray().Key("plan");
  if (options.plan_hash.empty()) {
    json.Null();
  } else {
    json.BeginObject().Field("file", options.plan).Field("hash", options.plan_hash).EndObject();
  }
  WriteSettings(json, options, table);
  json.Key("samplers");
  if (prompt) {
    json.BeginArray();
    if (prompt->grammar) json.Value("grammar");
    for (const std::string& sampler : ActiveSamplers(prompt->sampler)) json.Value(sampler);
    json.EndArray();
  } else {
    json.Null();
  }
  WriteEndTokens(json, model);
  json.Field("prompt_count", prompts);
  if (prompt) {
    WriteIds(json, "prompt_tokens", prompt->prompt);
  } else {
    json.Key("prompt_tokens").Null();
  }
  return json.EndObject().Take();
}

std::string TokenRecord(std::size_t index, const GeneratedToken& token, bool has_text,
                        bool has_logprobs) {
  JsonWriter json;
  json.BeginObject().Field("type", "token").Field("index", index).Key("id");
  // Text that an interruption set free comes without a token.
  if (token.id == kNoToken) {
    json.Null();
  } else {
    json.Value(token.id);
  }
  json.Key("text");
  if (has_text) {
    json.Value(token.text);
  } else {
    json.Null();
  }
  if (has_logprobs && token.id != kNoToken) {
    WriteLogprobs(json, token);
  } else {
    json.Key("logprob").Null().Key("top").Null();
  }
  return json.EndObject().Take();
}

std::vector<MemoryRow> MemoryOf(const Engine& engine, const Engine* draft) {
  std::vector<MemoryRow> rows = engine.Memory();
  if (!draft) return rows;
  for (MemoryRow row : draft->Memory()) {
    row.row.insert(0, kDraft);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string EndRecord(const GenerationResult* result, const ResultForm& form, const RunTimes& times,
                      const Engine& engine, const Engine* draft, const ResidentMemory* resident) {
  JsonWriter json;
  json.BeginObject().Field("type", "end");
  if (result) {
    WriteResult(json, *result, form);
  } else {
    WriteNoResult(json);
  }
  json.Key("timings").BeginObject();
  json.Field("load_ns", times.load_ns).Field("total_ns", times.total_ns);
  if (result) {
    WriteRates(json, *result);
  } else {
    for (const std::string_view key :
         {"prompt_ns", "decode_ns", "prompt_tok_per_s", "decode_tok_per_s"}) {
      json.Key(key).Null();
    }
  }
  json.EndObject().Key("memory").BeginArray();
  for (const MemoryRow& row : MemoryOf(engine, draft)) {
    json.BeginObject().Field("device", row.device).Field("row", row.row);
    json.Field("predicted_bytes", row.predicted_bytes);
    json.Field("allocated_bytes", row.allocated_bytes).Field("how", row.how).EndObject();
  }
  json.EndArray().Key("measured");
  if (resident) {
    json.BeginObject().Field("peak_resident_bytes", resident->peak_bytes);
    json.Field("resident_anonymous_bytes", resident->anonymous_bytes);
    json.Field("resident_file_bytes", resident->file_bytes).EndObject();
  } else {
    json.Null();
  }
  json.Key("launches").BeginArray();
  std::uint64_t reference_launches = WriteLaunches(json, engine, {});
  if (draft) reference_launches += WriteLaunches(json, *draft, kDraft);
  json.EndArray().Field("reference_launches", reference_launches);
  json.Key("expert_slots").BeginArray();
  for (const ExpertSlotCounts& counts : engine.SlotCounts()) {
    json.BeginObject().Field("device", counts.device).Field("hits", counts.hits);
    json.Field("misses", counts.misses).Field("evictions", counts.evictions);
    json.Field("uploaded_bytes", counts.uploaded_bytes);
    json.Field("quarantined_slots", counts.quarantined_slots).EndObject();
  }
  return json.EndArray().EndObject().Take();
}

std::string ResultRecord(std::size_t index, const PromptItem& item, const GenerationResult& result,
                         const ResultForm& form, const std::vector<GeneratedToken>* logprobs) {
  JsonWriter json;
  WriteLineHead(json, index, item);
  WriteResult(json, result, form);
  json.Key("timings").BeginObject();
  WriteRates(json, result);
  json.EndObject().Key("logprobs");
  if (logprobs) {
    json.BeginArray();
    for (const GeneratedToken& token : *logprobs) {
      json.BeginObject().Field("id", token.id);
      WriteLogprobs(json, token);
      json.EndObject();
    }
    json.EndArray();
  } else {
    json.Null();
  }
  return json.Key("error").Null().EndObject().Take();
}

std::string ErrorResultRecord(std::size_t index, const PromptItem& item) {
  JsonWriter json;
  WriteLineHead(json, index, item);
  WriteNoResult(json);
  json.Key("timings").Null().Key("logprobs").Null();
  json.Key("error").BeginObject().Field("code", CodeName(item.error.code()));
  json.Field("message", item.error.message()).Key("at");
  if (item.error.at().empty()) {
    json.Null();
  } else {
    json.Value(item.error.at());
  }
  return json.EndObject().EndObject().Take();
}

}  // namespace vt::cli
