// One line of --jsonl: a JSON object with a prompt and its own settings.
#include <cmath>
#include <functional>

#include "base/json.h"
#include "base/near_names.h"
#include "cli/conversation.h"
#include "cli/prompt_items.h"

namespace vt::cli {
namespace {

using nlohmann::ordered_json;

Status WrongType(const ordered_json& value, const std::string& wanted) {
  return InvalidError("must be " + wanted + " (" + value.type_name() + " given)");
}

Status TakeInteger(const ordered_json& value, std::int64_t lowest, std::int64_t highest,
                   std::int64_t* target) {
  if (!value.is_number_integer()) return WrongType(value, "a whole number");
  // The decimal text is judged as a flag's value is, so that huge numbers are out of range.
  VT_ASSIGN_OR_RETURN(*target, ParseInteger(value.dump(), lowest, highest));
  return Status();
}

Status TakeReal(const ordered_json& value, float* target) {
  if (!value.is_number()) return WrongType(value, "a number");
  *target = value.get<float>();
  if (!std::isfinite(*target)) return InvalidError("out of range (" + value.dump() + ")");
  return Status();
}

Status TakeStop(const ordered_json& value, std::vector<std::string>* stop) {
  stop->clear();
  const ordered_json list = value.is_array() ? value : ordered_json::array({value});
  for (const ordered_json& text : list) {
    if (!text.is_string()) return WrongType(text, "a string or an array of strings");
    if (text.get_ref<const std::string&>().empty()) return InvalidError("a stop text is empty");
    stop->push_back(text.get<std::string>());
  }
  return Status();
}

Status TakeTokens(const ordered_json& value, PromptItem* item) {
  if (!value.is_array()) return WrongType(value, "an array of token ids");
  std::vector<TokenId> ids;
  for (const ordered_json& element : value) {
    std::int64_t id = 0;
    VT_RETURN_IF_ERROR(TakeInteger(element, 0, std::numeric_limits<TokenId>::max(), &id));
    ids.push_back(static_cast<TokenId>(id));
  }
  item->tokens = std::move(ids);
  return Status();
}

Status TakeLogitBias(const ordered_json& value, SamplerOptions* sampler) {
  if (!value.is_object()) return WrongType(value, "an object of token ids and biases");
  sampler->logit_bias.clear();
  for (const auto& [key, bias] : value.items()) {
    VT_ASSIGN_OR_RETURN(const std::int64_t id,
                        ParseInteger(key, 0, std::numeric_limits<TokenId>::max()));
    float number = 0;
    if (bias == "-inf") {
      number = -INFINITY;
    } else {
      VT_RETURN_IF_ERROR(TakeReal(bias, &number));
    }
    sampler->logit_bias.emplace_back(static_cast<TokenId>(id), number);
  }
  return Status();
}

Status TakeString(const ordered_json& value, std::string* target) {
  if (!value.is_string()) return WrongType(value, "a string");
  *target = value.get<std::string>();
  return Status();
}

// A key of the line and how it is read.
struct LineKey {
  std::string_view name;
  std::function<Status(const ordered_json&)> take;
};

struct LineParser {
  PromptItem* item;
  const RunOptions& options;
  std::optional<std::string> prompt = {};
  Conversation conversation = {};
  bool has_messages = false;

  std::vector<LineKey> Keys() {
    SamplerOptions& s = item->sampler;
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const auto integer = [](std::int64_t* target, std::int64_t lowest) {
      return [=](const ordered_json& v) { return TakeInteger(v, lowest, kMost, target); };
    };
    const auto real = [](float* target) {
      return [=](const ordered_json& v) { return TakeReal(v, target); };
    };
    return {
        {"id",
         [this](const ordered_json& v) {
           if (v.is_structured()) return WrongType(v, "a string or a number");
           item->id = v.dump();
           return Status();
         }},
        {"prompt", [this](const ordered_json& v) { return TakeString(v, &prompt.emplace()); }},
        {"tokens", [this](const ordered_json& v) { return TakeTokens(v, item); }},
        {"messages",
         [this](const ordered_json& v) {
           has_messages = true;
           conversation.messages = v;
           return CheckMessages(v, "");
         }},
        {"tools",
         [this](const ordered_json& v) {
           conversation.tools = v;
           return CheckTools(v, "");
         }},
        {"chat_template_kwargs",
         [this](const ordered_json& v) {
           if (!v.is_object()) return WrongType(v, "an object");
           conversation.variables = v;
           return Status();
         }},
        {"max_tokens", integer(&item->max_tokens, -1)},
        {"seed",
         [&s](const ordered_json& v) {
           std::int64_t seed = 0;
           VT_RETURN_IF_ERROR(TakeInteger(v, 0, kMost, &seed));
           s.seed = static_cast<std::uint64_t>(seed);
           return Status();
         }},
        {"temperature", real(&s.temperature)},
        {"top_k", integer(&s.top_k, 0)},
        {"top_p", real(&s.top_p)},
        {"min_p", real(&s.min_p)},
        {"typical_p", real(&s.typical_p)},
        {"repeat_penalty", real(&s.repeat_penalty)},
        {"presence_penalty", real(&s.presence_penalty)},
        {"frequency_penalty", real(&s.frequency_penalty)},
        {"penalty_window", integer(&s.penalty_window, -1)},
        {"logit_bias", [&s](const ordered_json& v) { return TakeLogitBias(v, &s); }},
        {"stop", [this](const ordered_json& v) { return TakeStop(v, &item->stop); }},
    };
  }

  Status Parse(std::string_view text, const Conversation& defaults) {
    conversation.tools = defaults.tools;
    VT_ASSIGN_OR_RETURN(const ordered_json json, ParseJson(text));
    if (!json.is_object()) return JsonError("", "must be a JSON object");
    // The id first, so that an error about another key can carry it.
    const std::vector<LineKey> keys = Keys();
    if (const auto id = json.find("id"); id != json.end()) {
      VT_RETURN_IF_ERROR(Take(keys[0], *id));
    }
    GivenFlags given;
    static constexpr std::string_view kSampling[][2] = {
        {"seed", "seed"},
        {"top_k", "top-k"},
        {"top_p", "top-p"},
        {"min_p", "min-p"},
        {"typical_p", "typical-p"},
        {"repeat_penalty", "repeat-penalty"},
        {"presence_penalty", "presence-penalty"},
        {"frequency_penalty", "frequency-penalty"},
        {"penalty_window", "penalty-window"},
    };
    for (const auto& [name, flag] : kSampling) {
      if (json.contains(std::string(name))) given.insert(flag);
    }
    for (const auto& [name, value] : json.items()) {
      const LineKey* key = nullptr;
      std::vector<std::string_view> names;
      for (const LineKey& candidate : keys) {
        names.push_back(candidate.name);
        if (candidate.name == name) key = &candidate;
      }
      if (!key) {
        return JsonError("/" + ValidUtf8(name),
                         "unknown key; the nearest is " + std::string(NearestName(name, names)));
      }
      VT_RETURN_IF_ERROR(Take(*key, value));
    }
    VT_RETURN_IF_ERROR(CheckEffective(item->sampler, given, "/"));
    VT_RETURN_IF_ERROR(CheckSamplerOptions(item->sampler, std::numeric_limits<TokenId>::max()));
    return TakePrompt(json, defaults);
  }

  static Status Take(const LineKey& key, const ordered_json& value) {
    Status status = key.take(value);
    if (status.ok()) return status;
    const std::string at = "/" + std::string(key.name) + status.at();
    return Status(status.code(),
                  status.at().empty() ? at + ": " + status.message()
                                      : "/" + std::string(key.name) + status.message(),
                  at);
  }

  Status TakePrompt(const ordered_json& json, const Conversation& defaults) {
    const int forms = (prompt ? 1 : 0) + (item->tokens ? 1 : 0) + (has_messages ? 1 : 0);
    if (forms != 1) {
      return JsonError("", "needs exactly one of prompt, tokens and messages (" +
                               std::to_string(forms) + " given)");
    }
    const bool user_turn = prompt && options.chat;
    if (!has_messages && !user_turn) {
      for (const char* name : {"tools", "chat_template_kwargs"}) {
        if (json.contains(name)) {
          return JsonError(std::string("/") + name, "has an effect only with messages");
        }
      }
    }
    if (has_messages || user_turn) {
      if (user_turn) {
        conversation.messages = defaults.messages;
        conversation.messages.push_back({{"role", "user"}, {"content", *prompt}});
      }
      item->conversation = std::make_shared<Conversation>(std::move(conversation));
    } else if (prompt) {
      item->text = std::move(prompt);
    }
    return Status();
  }
};

}  // namespace

PromptItem ParsePromptLine(std::string_view text, std::size_t line, const RunOptions& options,
                           const Conversation& defaults) {
  PromptItem item;
  item.line = line;
  item.max_tokens = options.max_tokens;
  item.sampler = options.sampler;
  item.stop = options.stop;
  LineParser parser{&item, options};
  if (Status status = parser.Parse(text, defaults); !status.ok()) {
    item.error = Status(status.code(), "line " + std::to_string(line) + ": " + status.message(),
                        status.at());
  }
  return item;
}

}  // namespace vt::cli
