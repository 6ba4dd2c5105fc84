// The rules between flags of vt-run.
#include <algorithm>

#include "base/near_names.h"
#include "cli/run_options.h"
#include "ops/registry.h"

namespace vt::cli {
namespace {

std::string_view ModeFlagName(RunMode mode) {
  switch (mode) {
    case kDumpTokens:
      return "dump-tokens";
    case kDumpPrompt:
      return "dump-prompt";
    case kDescribe:
      return "describe";
    case kListArchs:
      return "list-archs";
    default:
      return "";
  }
}

Status CheckModes(std::span<const Flag> table, const RunOptions& options) {
  for (const Flag& flag : table) {
    if (!options.given.contains(flag.name) || (flag.modes & options.mode) != 0) continue;
    std::string message = "--" + std::string(flag.name) + ": has no effect ";
    if (options.mode == kGenerate) return InternalError(message + "when generating");
    message += "with --" + std::string(ModeFlagName(options.mode)) + "; leave one of them out";
    return InvalidError(message);
  }
  return Status();
}

Status CheckPrompts(const RunOptions& options) {
  std::vector<std::string_view> sources;
  for (const std::string_view name : {"prompt", "file", "tokens", "messages"}) {
    if (options.given.contains(name)) sources.push_back(name);
  }
  if (sources.size() > 1) {
    return InvalidError("--" + std::string(sources[0]) + " and --" + std::string(sources[1]) +
                        ": two prompts given; give one");
  }
  if (options.jsonl && !sources.empty() && sources[0] != "file") {
    return InvalidError("--jsonl and --" + std::string(sources[0]) +
                        ": with --jsonl the prompts come from -f FILE or stdin");
  }
  if (options.plan == "-" &&
      (options.prompt_file == "-" || (sources.empty() && options.mode == kGenerate))) {
    return InvalidError("--plan and the prompt both read stdin; give -p TEXT or -f FILE");
  }
  if (options.tokens && options.chat) {
    return InvalidError("--tokens and --chat: token ids go through no template; leave one out");
  }
  return Status();
}

// A flag that needs another one to have an effect.
struct Need {
  std::string_view flag;
  bool met;
  std::string_view what;  // completes "--flag: ..."
};

Status CheckNeeds(const RunOptions& o) {
  const std::string_view chat = "has an effect only with --chat, --messages or --jsonl";
  const std::string_view jsonl = "has an effect only with --jsonl";
  const std::string_view planned = "is settled by --plan; leave it out";
  const bool raw = !o.chat && o.messages_file.empty();
  const Need needs[] = {
      {"system", o.chat, "has an effect only with --chat (in a --messages file, write it there)"},
      {"system", o.messages_file.empty(), "cannot be added to --messages; write it in that file"},
      {"tools", o.may_chat(), chat},
      {"chat-template", o.may_chat(), chat},
      {"date", o.may_chat(), chat},
      {"bos-token", o.may_chat(), chat},
      {"eos-token", o.may_chat(), chat},
      {"special", raw, "has no effect on a chat, whose template's special tokens always count"},
      {"special", !o.tokens, "has no effect on --tokens"},
      {"no-bos", !o.tokens, "has no effect on --tokens, which are used as they are"},
      {"sequences", o.jsonl, jsonl},
      {"no-prefix-reuse", o.jsonl, jsonl},
      {"dump-logits", !o.jsonl, "takes one prompt, not --jsonl"},
      {"sim", !o.plan.empty() || o.device.starts_with("sim") || o.draft_device.starts_with("sim"),
       "has an effect only with --device sim:0 or --plan"},
      {"isa", !o.plan.empty() || o.device == "cpu", "has an effect only on device cpu"},
      {"force", !o.plan.empty(), "has an effect only with --plan"},
      {"device", o.plan.empty(), planned},
      {"ctx", o.plan.empty(), planned},
      {"sequences", o.plan.empty(), planned},
      {"ubatch", o.plan.empty(), planned},
      {"kv-type", o.plan.empty(), planned},
      {"threads", o.plan.empty(), planned},
      {"exact", o.plan.empty(), planned},
      {"grammar", !o.json_schema, "cannot be put together with --json-schema; give one of them"},
      {"draft-max", o.draft.has_value(), "has an effect only with --draft"},
      {"draft-device", o.draft.has_value() && !o.looks_up(),
       "has an effect only with --draft MODEL"},
      {"draft-match", o.looks_up(), "has an effect only with --draft prompt-lookup"},
      {"logprobs", o.json || o.jsonl, "has an effect only with --json or --jsonl"},
  };
  for (const Need& need : needs) {
    if (o.given.contains(need.flag) && !need.met) {
      return InvalidError("--" + std::string(need.flag) + ": " + std::string(need.what));
    }
  }
  const bool own_template = !o.chat_template_file.empty();
  const bool needs_model =
      o.mode != kListArchs && (o.mode != kDumpPrompt || (o.may_chat() && !own_template));
  if (needs_model && o.model.empty() && o.plan.empty()) {
    return InvalidError("--model: no model file given; write -m FILE");
  }
  return Status();
}

Status CheckKernels(const RunOptions& options) {
  for (const auto& forced : options.kernels) {
    const std::string& op = forced.first;
    const std::string& name = forced.second;
    std::vector<std::string_view> ops;
    std::vector<std::string_view> names;
    BuiltinKernels().ForEach([&](std::string_view row_op, const auto& kernel) {
      ops.push_back(row_op);
      if (row_op == op) names.push_back(kernel.name);
    });
    if (names.empty()) {
      return InvalidError("--kernel: op \"" + ValidUtf8(op) + "\" is not known; the nearest is " +
                          std::string(NearestName(op, ops)));
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return InvalidError("--kernel: op " + op + " has no kernel \"" + ValidUtf8(name) +
                          "\"; the nearest is " + std::string(NearestName(name, names)));
    }
  }
  return Status();
}

}  // namespace

Status CheckEffective(const SamplerOptions& s, const GivenFlags& given, std::string_view prefix) {
  const bool greedy = s.temperature == 0;
  const bool penalties =
      s.repeat_penalty != 1 || s.presence_penalty != 0 || s.frequency_penalty != 0;
  const Need needs[] = {
      {"seed", !greedy, "has no effect at temperature 0, which draws nothing"},
      {"top-k", !greedy || s.top_k == 0, "has no effect at temperature 0"},
      {"top-p", !greedy || s.top_p == 1, "has no effect at temperature 0"},
      {"min-p", !greedy || s.min_p == 0, "has no effect at temperature 0"},
      {"typical-p", !greedy || s.typical_p == 1, "has no effect at temperature 0"},
      {"penalty-window", penalties, "has an effect only with a penalty"},
      {"repeat-penalty", s.penalty_window != 0 || s.repeat_penalty == 1,
       "has no effect with a penalty window of 0"},
      {"presence-penalty", s.penalty_window != 0 || s.presence_penalty == 0,
       "has no effect with a penalty window of 0"},
      {"frequency-penalty", s.penalty_window != 0 || s.frequency_penalty == 0,
       "has no effect with a penalty window of 0"},
  };
  for (const Need& need : needs) {
    if (!given.contains(need.flag) || need.met) continue;
    std::string name = std::string(prefix) + std::string(need.flag);
    if (prefix != "/") return InvalidError(name + ": " + std::string(need.what));
    std::replace(name.begin(), name.end(), '-', '_');
    return Status(Code::kInvalid, name + ": " + std::string(need.what), name);
  }
  return Status();
}

Status ParseRunFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                     RunOptions* options) {
  VT_ASSIGN_OR_RETURN(options->given, ParseFlags(table, args));
  if (options->mode == kHelp || options->mode == kVersion) return Status();
  VT_RETURN_IF_ERROR(CheckModes(table, *options));
  VT_RETURN_IF_ERROR(CheckPrompts(*options));
  VT_RETURN_IF_ERROR(CheckNeeds(*options));
  VT_RETURN_IF_ERROR(CheckKernels(*options));
  // Lines of --jsonl may change the temperature, so there each line is judged with its own keys.
  if (!options->jsonl) {
    VT_RETURN_IF_ERROR(CheckEffective(options->sampler, options->given, "--"));
  }
  // The vocabulary's size is not known yet; token ids are checked again when it is.
  return CheckSamplerOptions(options->sampler, std::numeric_limits<TokenId>::max());
}

}  // namespace vt::cli
