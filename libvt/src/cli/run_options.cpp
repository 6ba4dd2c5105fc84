#include "cli/run_options.h"

#include <charconv>
#include <cmath>

#include "cli/flag_rows.h"

namespace vt::cli {
namespace {

constexpr unsigned kPrompts = kGenerate | kDumpTokens | kDumpPrompt;
constexpr unsigned kTokens = kGenerate | kDumpTokens;
constexpr std::string_view kInput = "Input";
constexpr std::string_view kChat = "Chat";
constexpr std::string_view kSampling = "Sampling";
constexpr std::string_view kOutput = "Output";
constexpr std::string_view kEngine = "Engine";
constexpr std::string_view kInstead = "Instead of generating";

// A row that says what to read or print, and so is no setting of the run.
Flag NoSetting(Flag row) {
  row.show = nullptr;
  return row;
}

Flag OptionalTextFlag(Flag row, std::optional<std::string>* target) {
  row.apply = [=](std::string_view text) {
    *target = text;
    return Status();
  };
  row.show = [=](JsonWriter& json) { json.Value(*target); };
  return row;
}

Flag InsteadFlag(Flag row, RunOptions* options, RunMode mode) {
  row.apply = [=](std::string_view) {
    if (mode == kHelp || options->mode == kGenerate) options->mode = mode;
    return Status();
  };
  return row;
}

Status AddLogitBias(std::string_view text, SamplerOptions* sampler) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::size_t sign = item.find_first_of("=+-");
    if (sign == std::string_view::npos || sign == 0) {
      return InvalidError("\"" + ValidUtf8(item) + "\" is not ID=BIAS (as in 42=-1.5)");
    }
    VT_ASSIGN_OR_RETURN(const std::int64_t id,
                        ParseInteger(item.substr(0, sign), 0, std::numeric_limits<TokenId>::max()));
    // "ID+V" and "ID-V" keep the sign as a part of the number, but from_chars takes no plus.
    std::string_view number = item.substr(item[sign] == '-' ? sign : sign + 1);
    if (number.starts_with('+')) number.remove_prefix(1);
    float bias = -INFINITY;
    if (number != "-inf") {
      VT_ASSIGN_OR_RETURN(bias, ParseReal(number));
    }
    for (const auto& [seen, value] : sampler->logit_bias) {
      if (seen == id) return InvalidError("token " + std::to_string(id) + " has two biases");
    }
    sampler->logit_bias.emplace_back(static_cast<TokenId>(id), bias);
  }
  return Status();
}

void AddInputFlags(std::vector<Flag>& t, RunOptions* o) {
  t.push_back(NoSetting(
      TextFlag(WithLetter('m', FlagRow(kInput, "model", "FILE", "GGUF file; of a split, any shard",
                                       kPrompts | kDescribe)),
               &o->model)));
  t.push_back(NoSetting(OptionalTextFlag(
      WithLetter('p', FlagRow(kInput, "prompt", "TEXT", "prompt", kPrompts)), &o->prompt)));
  t.push_back(NoSetting(TextFlag(
      WithLetter(
          'f', FlagRow(kInput, "file", "FILE",
                       "prompt from a file, byte for byte; - is stdin, which is also read when it "
                       "is no terminal and no prompt is given",
                       kPrompts)),
      &o->prompt_file)));
  t.push_back({.name = "tokens",
               .value = "ID,ID,..",
               .group = kInput,
               .doc = "prompt as token ids",
               .modes = kTokens,
               .apply = [o](std::string_view text) {
                 VT_ASSIGN_OR_RETURN(o->tokens, ParseTokenList(text));
                 return Status();
               }});
  t.push_back(NoSetting(SwitchFlag(
      FlagRow(kInput, "jsonl", "",
              "prompts as JSON Lines in (-f or stdin), one result line each out", kPrompts),
      &o->jsonl)));
  t.push_back(
      SwitchFlag(FlagRow(kInput, "special", "",
                         "text such as <|im_end|> in a raw prompt is the special token", kTokens),
                 &o->special));
  t.push_back(SwitchFlag(
      FlagRow(kInput, "no-bos", "", "add no beginning-of-text (or end-of-text) token", kTokens),
      &o->no_bos));
}

void AddChatFlags(std::vector<Flag>& t, RunOptions* o) {
  t.push_back(
      SwitchFlag(FlagRow(kChat, "chat", "",
                         "the prompt is a user's turn in the model's chat template", kPrompts),
                 &o->chat));
  t.push_back(OptionalTextFlag(
      FlagRow(kChat, "system", "TEXT", "system message before the prompt", kPrompts), &o->system));
  t.push_back(
      TextFlag(FlagRow(kChat, "messages", "FILE",
                       "the conversation, as a JSON array of {role, content, ..}", kPrompts),
               &o->messages_file));
  t.push_back(
      TextFlag(FlagRow(kChat, "tools", "FILE", "tools for the template, as a JSON array", kPrompts),
               &o->tools_file));
  t.push_back(TextFlag(
      FlagRow(kChat, "chat-template", "FILE", "Jinja template instead of the model's", kPrompts),
      &o->chat_template_file));
  t.push_back({.name = "date",
               .value = "DATE",
               .group = kChat,
               .doc = "YYYY-MM-DD[THH:MM:SS] for templates that ask",
               .default_text = "now",
               .modes = kPrompts,
               .apply =
                   [o](std::string_view text) {
                     VT_ASSIGN_OR_RETURN(o->now, ParseDate(text));
                     o->date = text;
                     return Status();
                   },
               .show =
                   [o](JsonWriter& json) {
                     if (o->date.empty()) {
                       json.Null();
                     } else {
                       json.Value(o->date);
                     }
                   }});
  t.push_back(
      OptionalTextFlag(FlagRow(kChat, "bos-token", "TEXT",
                               "bos_token in the template, instead of the model's", kPrompts),
                       &o->bos_text));
  t.push_back(
      OptionalTextFlag(FlagRow(kChat, "eos-token", "TEXT",
                               "eos_token in the template, instead of the model's", kPrompts),
                       &o->eos_text));
}

void AddSamplingFlags(std::vector<Flag>& t, RunOptions* o) {
  SamplerOptions& s = o->sampler;
  const auto row = [](std::string_view name, std::string_view value, std::string_view doc) {
    return FlagRow(kSampling, name, value, doc, kGenerate);
  };
  t.push_back(IntegerFlag(
      WithLetter('n',
                 row("max-tokens", "N", "most tokens to generate; -1: until the context is full")),
      &o->max_tokens, -1));
  Flag seed = row("seed", "N", "seed of the random draws");
  seed.default_text = std::to_string(s.seed);
  seed.apply = [&s](std::string_view text) {
    VT_ASSIGN_OR_RETURN(const std::int64_t value,
                        ParseInteger(text, 0, std::numeric_limits<std::int64_t>::max()));
    s.seed = static_cast<std::uint64_t>(value);
    return Status();
  };
  seed.show = [&s](JsonWriter& json) { json.Value(s.seed); };
  t.push_back(std::move(seed));
  t.push_back(RealFlag(row("temperature", "T", "0: always the likeliest token"), &s.temperature));
  t.push_back(IntegerFlag(row("top-k", "K", "draw from the K likeliest; 0: off"), &s.top_k, 0));
  t.push_back(
      RealFlag(row("top-p", "P", "draw from the likeliest that sum to P; 1: off"), &s.top_p));
  t.push_back(
      RealFlag(row("min-p", "P", "drop those under P times the likeliest; 0: off"), &s.min_p));
  t.push_back(RealFlag(row("typical-p", "P", "draw from the most typical that sum to P; 1: off"),
                       &s.typical_p));
  t.push_back(RealFlag(row("repeat-penalty", "X", "divides the logits of recent tokens; 1: off"),
                       &s.repeat_penalty));
  t.push_back(RealFlag(row("presence-penalty", "X", "taken off a recent token's logit; 0: off"),
                       &s.presence_penalty));
  t.push_back(RealFlag(row("frequency-penalty", "X", "the same, per occurrence; 0: off"),
                       &s.frequency_penalty));
  t.push_back(IntegerFlag(row("penalty-window", "N", "recent tokens are the last N; -1: all"),
                          &s.penalty_window, -1));
  Flag bias = row("logit-bias", "ID=V,..", "added to the logit of token ID; -inf: never");
  bias.repeatable = true;
  bias.apply = [&s](std::string_view text) { return AddLogitBias(text, &s); };
  bias.show = [&s](JsonWriter& json) {
    json.BeginArray();
    for (const auto& [id, value] : s.logit_bias) {
      json.BeginObject().Field("id", id).Key("bias");
      if (std::isfinite(value)) {
        json.Value(value);
      } else {
        json.Value("-inf");
      }
      json.EndObject();
    }
    json.EndArray();
  };
  t.push_back(std::move(bias));
  Flag stop = row("stop", "TEXT", "ends the answer, and is no part of it; may be repeated");
  stop.repeatable = true;
  stop.apply = [o](std::string_view text) {
    if (text.empty()) return InvalidError("the text is empty");
    o->stop.emplace_back(text);
    return Status();
  };
  stop.show = [o](JsonWriter& json) {
    json.BeginArray();
    for (const std::string& text : o->stop) json.Value(text);
    json.EndArray();
  };
  t.push_back(std::move(stop));
  t.push_back(OptionalTextFlag(
      row("grammar", "FILE", "the answer follows a GBNF grammar: a file, or its text"),
      &o->grammar));
  t.push_back(OptionalTextFlag(
      row("json-schema", "FILE", "the answer is JSON that fits a schema: a file, or its text"),
      &o->json_schema));
}

void AddOutputFlags(std::vector<Flag>& t, RunOptions* o) {
  t.push_back(NoSetting(SwitchFlag(
      FlagRow(kOutput, "json", "", "JSON Lines (vt.run/1) instead of text", kTokens | kDescribe),
      &o->json)));
  t.push_back(IntegerFlag(
      WithDefault("off", FlagRow(kOutput, "logprobs", "K",
                                 "log-probability of each token and the K likeliest, in the JSON",
                                 kGenerate)),
      &o->logprobs, 1));
  t.push_back(
      TextFlag(FlagRow(kOutput, "dump-logits", "FILE",
                       "logits after each prompt token: raw f32, [prompt, vocab]", kGenerate),
               &o->dump_logits));
  t.push_back(SwitchFlag(
      FlagRow(kOutput, "measure", "", "memory: predicted, allocated and resident", kGenerate),
      &o->measure));
  t.push_back(
      NoSetting(TextFlag(FlagRow(kOutput, "calibrate", "FILE",
                                 "the runtime's memory, for vt-fit --calibration", kGenerate),
                         &o->calibrate_file)));
  t.push_back(
      NoSetting(SwitchFlag(FlagRow(kOutput, "explain", "",
                                   "which kernel ran each op, and why not the others", kGenerate),
                           &o->explain)));
  t.push_back(NoSetting(SwitchFlag(
      FlagRow(kOutput, "quiet", "", "no progress, notes or summary on stderr"), &o->quiet)));
}

void AddEngineFlags(std::vector<Flag>& t, RunOptions* o) {
  const auto row = [](std::string_view name, std::string_view value, std::string_view doc,
                      std::string default_text = {}) {
    return WithDefault(std::move(default_text), FlagRow(kEngine, name, value, doc, kGenerate));
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  t.push_back(
      TextFlag(row("device", "ID", "where it runs: a device that vt-caps lists"), &o->device));
  t.push_back(TextFlag(row("plan", "FILE", "as vt-place planned it; \"-\": on stdin"), &o->plan));
  t.push_back(SwitchFlag(row("force", "", "also a plan that does not fit"), &o->force));
  t.push_back(ListFlag(row("sim", "FILE", "profile of sim:0, of sim:1, ..; may be repeated"),
                       &o->sim_files));
  t.push_back(IntegerFlag(row("ctx", "N", "positions of a sequence", "the model's, at most 4096"),
                          &o->context, 1, kMost));
  t.push_back(IntegerFlag(row("threads", "N", "threads", "one per core"), &o->threads, 1, 1024));
  t.push_back(IntegerFlag(row("ubatch", "N", "most tokens of one step (prompt chunk)"), &o->ubatch,
                          1, 1 << 20));
  t.push_back(IntegerFlag(
      row("sequences", "N", "--jsonl prompts that run at once", "as many as there are, at most 4"),
      &o->sequences, 1, 1 << 16));
  t.push_back(
      KvTypeFlag(row("kv-type", "TYPE", "keys and values: f32, f16, bf16 or q8_0"), &o->kv_type));
  t.push_back(SwitchFlag(row("exact", "", "weights decoded, f32 throughout (slow)"), &o->exact));
  t.push_back(SwitchFlag(row("check", "", "stop at the first op that makes a NaN"), &o->check));
  t.push_back(SwitchFlag(row("no-prefix-reuse", "", "compute shared --jsonl prefixes every time"),
                         &o->prefix_reuse, false));
  t.push_back(ChoiceFlag(row("tier", "TIER", "lowest allowed: native, composed or reference"),
                         &o->tier, {"native", "composed", "reference"}));
  t.push_back(IsaFlag(
      row("isa", "ISA", "scalar, avx2, avx512 or avx512vnni at most", "all there is"), &o->isa));
  t.push_back(OptionalTextFlag(
      row("draft", "WHAT", "guess tokens and check them together: prompt-lookup, or a model file"),
      &o->draft));
  t.push_back(TextFlag(row("draft-device", "ID", "that runs the draft model", "the model's"),
                       &o->draft_device));
  constexpr std::int64_t kMostGuesses = 64;
  Flag draft_max =
      IntegerFlag(row("draft-max", "N", "most guesses of a step", "prompt-lookup: 8, a model: 4"),
                  &o->draft_max, 1, kMostGuesses);
  draft_max.show = [o](JsonWriter& json) {
    if (o->draft_max == 0) {
      json.Null();
    } else {
      json.Value(o->draft_max);
    }
  };
  t.push_back(std::move(draft_max));
  t.push_back(IntegerFlag(row("draft-match", "N", "tokens alike before a lookup guesses"),
                          &o->draft_match, 1, 32));
  t.push_back(KernelsFlag(row("kernel", "OP=NAME", "force the kernel of an op; may be repeated"),
                          &o->kernels));
}

void AddModeFlags(std::vector<Flag>& t, RunOptions* o) {
  const auto row = [](std::string_view name, std::string_view doc, RunMode mode) {
    return FlagRow(kInstead, name, "", doc, mode);
  };
  t.push_back(InsteadFlag(
      row("dump-tokens", "the prompt's token ids, as JSON (needs no weights)", kDumpTokens), o,
      kDumpTokens));
  t.push_back(InsteadFlag(row("dump-prompt", "the prompt as the template renders it", kDumpPrompt),
                          o, kDumpPrompt));
  t.push_back(
      InsteadFlag(row("describe", "the model file as JSON (vt.model/1)", kDescribe), o, kDescribe));
  t.push_back(
      InsteadFlag(row("list-archs", "the architectures that can run", kListArchs), o, kListArchs));
  t.push_back(InsteadFlag(row("version", "the version", kVersion), o, kVersion));
  t.push_back(InsteadFlag(WithLetter('h', row("help", "this text", kHelp)), o, kHelp));
}

}  // namespace

std::vector<Flag> RunFlags(RunOptions* options) {
  std::vector<Flag> table;
  AddInputFlags(table, options);
  AddChatFlags(table, options);
  AddSamplingFlags(table, options);
  AddOutputFlags(table, options);
  AddEngineFlags(table, options);
  AddModeFlags(table, options);
  return table;
}

Result<std::vector<TokenId>> ParseTokenList(std::string_view text) {
  std::vector<TokenId> ids;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::string_view item = text.substr(at, comma - at);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    VT_ASSIGN_OR_RETURN(const std::int64_t id,
                        ParseInteger(item, 0, std::numeric_limits<TokenId>::max()));
    ids.push_back(static_cast<TokenId>(id));
    at = comma + 1;
  }
  return ids;
}

Result<std::int64_t> ParseDate(std::string_view text) {
  const Status wrong =
      InvalidError("\"" + ValidUtf8(text) + "\" is not a date (YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS)");
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != 10 && text.size() != kPattern.size()) return wrong;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kPattern[i] == 'd' ? !digit : text[i] != kPattern[i]) return wrong;
  }
  const auto number = [&](std::size_t at, std::size_t size) {
    std::int64_t value = 0;
    std::from_chars(text.data() + at, text.data() + at + size, value);
    return value;
  };
  const std::int64_t year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1970 || month < 1 || month > 12 || day < 1 ||
      day > kDays[month - 1] + (month == 2 && leap ? 1 : 0)) {
    return wrong;
  }
  std::int64_t days = day - 1;
  for (std::int64_t m = 1; m < month; ++m) days += kDays[m - 1] + (m == 2 && leap ? 1 : 0);
  const std::int64_t past = year - 1;  // whole years since year 1
  days += past * 365 + past / 4 - past / 100 + past / 400 - 719162;
  std::int64_t seconds = 0;
  if (text.size() > 10) {
    const std::int64_t hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
    if (hour > 23 || minute > 59 || second > 59) return wrong;
    seconds = hour * 3600 + minute * 60 + second;
  }
  return days * 86400 + seconds;
}

std::string RunHelp(std::span<const Flag> table) {
  return "usage: vt-run -m FILE [-p TEXT | -f FILE | --tokens IDS | --messages FILE] ...\n\n"
         "Generates text from a model file. The text goes to stdout, all else to stderr.\n" +
         FlagHelp(table) +
         "\nExit codes: 0 yes, 2 bad usage or input, 3 bad model file, 4 unsupported here,\n"
         "5 out of memory, 6 a bug or a device error, 130 interrupted.\n";
}

}  // namespace vt::cli
