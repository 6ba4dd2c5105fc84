#include "cli/golden_options.h"

#include <algorithm>
#include <charconv>

#include "base/near_names.h"
#include "base/text_layout.h"
#include "cli/flag_rows.h"
#include "cli/flag_rules.h"

namespace vt::cli {
namespace {

struct CommandName {
  GoldenCommand command;
  std::string_view name;
  std::string_view usage;  // lines
};

constexpr CommandName kCommands[] = {
    {GoldenCommand::kRecord, "record",
     "usage: vt-golden record -m MODEL --prompts P.jsonl -o G.json [flags]\n"
     "Runs prompts greedily and keeps tokens, margins and the highest logits.\n"},
    {GoldenCommand::kCheck, "check",
     "usage: vt-golden check --golden G.json -m MODEL [flags]   runs the model\n"
     "       vt-golden check --golden G.json RUN   a finished vt-run --json (- stdin)\n"},
    {GoldenCommand::kDiff, "diff", "usage: vt-golden diff A.json B.json [flags]   case by case\n"},
    {GoldenCommand::kImport, "import",
     "usage: vt-golden import --from FORM FILE [-o G.json]   FILE - is stdin\n"
     "Makes a golden of what another program answered.\n"},
    {GoldenCommand::kSelfTest, "self-test",
     "usage: vt-golden self-test --golden G.json -m MODEL [flags]\n"
     "Spoils copies of the golden and of the model; check must notice each time.\n"},
};

Flag Row(std::string_view name, std::string_view value, std::string_view doc) {
  return FlagRow("Flags", name, value, doc);
}

Flag NumberFlag(Flag row, double* target) {
  row.default_text = JsonWriter().Value(*target).Take();
  row.apply = [=](std::string_view text) {
    VT_ASSIGN_OR_RETURN(const float value, ParseReal(text));
    if (value < 0) return InvalidError(std::string(text) + " is negative");
    // The float only checks: the number that was written is the limit.
    *target = std::strtod(std::string(text).c_str(), nullptr);
    return Status();
  };
  return row;
}

Flag LimitsFlag(Flag row, CheckLimits* limits) {
  row.repeatable = true;
  row.default_text = "kl=1e-4,logprob=.1,margin=.05,nmse=1e-5,layer=.02";
  row.apply = [=](std::string_view text) {
    const std::pair<std::string_view, double*> known[] = {{"kl", &limits->kl},
                                                          {"logprob", &limits->logprob},
                                                          {"margin", &limits->margin},
                                                          {"nmse", &limits->nmse},
                                                          {"layer", &limits->layer}};
    while (!text.empty()) {
      const std::string_view item = text.substr(0, text.find(','));
      text.remove_prefix(std::min(item.size() + 1, text.size()));
      const std::size_t equals = item.find('=');
      const auto* found = std::find_if(std::begin(known), std::end(known), [&](const auto& one) {
        return one.first == item.substr(0, equals);
      });
      if (found == std::end(known) || equals == std::string_view::npos) {
        return InvalidError("\"" + ValidUtf8(item) +
                            "\" is not NAME=VALUE of kl, logprob, margin, nmse, layer");
      }
      VT_ASSIGN_OR_RETURN(const float value, ParseReal(item.substr(equals + 1)));
      if (value < 0) return InvalidError("\"" + ValidUtf8(item) + "\" is negative");
      *found->second = std::strtod(std::string(item.substr(equals + 1)).c_str(), nullptr);
    }
    return Status();
  };
  return row;
}

// "L0,L5" or "0,5" or "all".
Flag CheckpointsFlag(Flag row, GoldenOptions* o) {
  row.apply = [=](std::string_view text) {
    o->checkpoints = true;
    o->checkpoint_layers.clear();
    if (text == "all") return Status();
    do {
      std::string_view item = text.substr(0, text.find(','));
      text.remove_prefix(std::min(item.size() + 1, text.size()));
      if (item.starts_with('L')) item.remove_prefix(1);
      int layer = -1;
      const auto end = std::from_chars(item.data(), item.data() + item.size(), layer);
      if (end.ec != std::errc() || end.ptr != item.data() + item.size() || layer < 0) {
        return InvalidError("\"" + ValidUtf8(item) +
                            "\" is no layer (allowed: all, or a list such "
                            "as L0,L5)");
      }
      o->checkpoint_layers.push_back(layer);
    } while (!text.empty());
    return Status();
  };
  return row;
}

// Rows of vt-run's table, for a subcommand that has few lines to say what they do.
std::vector<Flag> RunRows(RunOptions* run, std::initializer_list<std::string_view> names) {
  std::vector<Flag> rows;
  for (Flag& flag : RunFlags(run)) {
    if (std::find(names.begin(), names.end(), flag.name) == names.end()) continue;
    flag.group = "As vt-run";
    flag.modes = ~0u;
    rows.push_back(std::move(flag));
  }
  return rows;
}

void AddRows(std::vector<Flag>& table, std::vector<Flag> rows) {
  table.insert(table.end(), std::make_move_iterator(rows.begin()),
               std::make_move_iterator(rows.end()));
}

void AddRecordFlags(std::vector<Flag>& t, GoldenOptions* o) {
  t.push_back(WithLetter('m', NameFlag(Row("model", "FILE", "GGUF file"), &o->run.model)));
  t.push_back(
      NameFlag(Row("prompts", "FILE", "JSON Lines as of vt-run --jsonl; \"id\" names a case"),
               &o->run.prompt_file));
  t.push_back(WithLetter('o', NameFlag(Row("out", "FILE", "the golden; - is stdout"), &o->out)));
  t.back().default_text = "-";
  t.push_back(WithLetter('n', IntegerFlag(Row("max-tokens", "N", "most tokens of an answer"),
                                          &o->run.max_tokens, 0, 1 << 20)));
  t.push_back(
      IntegerFlag(Row("top", "K", "logits kept of each position; 0: all"), &o->top_k, 0, 1 << 20));
  t.push_back(CheckpointsFlag(
      Row("checkpoints", "LAYERS", "all, or L0,L5: keeps what they leave, in short"), o));
}

void AddCheckFlags(std::vector<Flag>& t, GoldenOptions* o) {
  t.push_back(
      NameFlag(Row("golden", "FILE", "what it must answer (vt.golden/1)"), &o->golden_file));
  t.push_back(WithLetter('m', NameFlag(Row("model", "FILE", "GGUF file"), &o->run.model)));
  t.push_back(ListFlag(Row("case", "NAME", "only this case; may be repeated"), &o->cases));
  t.push_back(
      SwitchFlag(Row("any-digest", "", "also a file that is not the golden's"), &o->any_digest));
  t.push_back(NumberFlag(Row("tie", "M", "margin under which two tokens tie"), &o->limits.tie));
  t.push_back(
      SwitchFlag(Row("allow-ties", "", "a near tie is good enough"), &o->limits.allow_ties));
  t.push_back(LimitsFlag(Row("limits", "LIST", "distances allowed"), &o->limits));
  t.push_back(SwitchFlag(Row("allow-skip", "", "exit 77, not 3, when there is no model file"),
                         &o->allow_skip));
  t.push_back(SwitchFlag(Row("locate", "", "first op that differs under --against"), &o->locate));
  t.push_back(NameFlag(
      Row("against", "FLAGS", "such as \"isa=scalar\", \"exact\", \"model=X.gguf\""), &o->against));
  t.push_back(NumberFlag(Row("tolerance", "X", "of --locate, relative"), &o->tolerance));
  t.push_back(SwitchFlag(Row("invariance", "", "also over threads, chunks, batch, prefix reuse"),
                         &o->invariance));
  t.push_back(NameFlag(Row("junit", "FILE", "JUnit XML"), &o->junit_file));
  t.push_back(SwitchFlag(Row("github", "", "annotations on stderr"), &o->github));
}

void AddOutputFlags(std::vector<Flag>& t, GoldenOptions* o) {
  t.push_back(SwitchFlag(Row("json", "", "JSON, the default when piped"), &o->json));
  t.push_back(SwitchFlag(Row("table", "", "text, the default at a terminal"), &o->table));
}

// Flags that a finished run, whose model has long stopped, takes no notice of.
Status CheckFinishedRunFlags(const GoldenOptions& o) {
  for (const std::string_view name :
       {"locate", "against", "invariance", "tolerance", "allow-skip", "device", "plan", "force",
        "sim", "ctx", "threads", "ubatch", "kv-type", "exact", "tier", "isa", "kernel", "limits"}) {
    if (!o.given.contains(name)) continue;
    return InvalidError("--" + std::string(name) +
                        ": has no effect on a finished run; leave it out");
  }
  return {};
}

Status CheckRules(const GoldenOptions& o) {
  const auto needs = [](std::string_view what) { return InvalidError(std::string(what)); };
  VT_RETURN_IF_ERROR(CheckAlternatives(o.given));
  const std::size_t files = o.files.size();
  switch (o.command) {
    case GoldenCommand::kRecord:
      if (files > 0) return needs("\"" + ValidUtf8(o.files[0]) + "\": not a flag");
      if (o.run.model.empty()) return needs("--model: no model file given; write -m FILE");
      if (o.run.prompt_file.empty()) return needs("--prompts: none given; write --prompts FILE");
      return {};
    case GoldenCommand::kCheck:
      if (o.golden_file.empty()) return needs("--golden: none given; write --golden G.json");
      if (files > 1) return needs("check: takes one finished run (2 given)");
      if (files == 1 && !o.run.model.empty()) {
        return needs("--model and a finished run: check one of them at a time");
      }
      if (files == 0 && o.run.model.empty()) {
        return needs("--model: no model file given; write -m FILE, or - for a run on stdin");
      }
      if (files == 1 && o.files[0] == "-" && o.golden_file == "-") {
        return needs("--golden and the run both read stdin; give one of them a file");
      }
      if (files == 1) return CheckFinishedRunFlags(o);
      if (o.locate && o.against.empty()) {
        return needs(
            "--locate: nothing to compare with; write --against \"isa=scalar\" or the "
            "like");
      }
      if (!o.locate && !o.against.empty()) {
        return needs("--against: has an effect only with --locate");
      }
      if (!o.locate && o.given.contains("tolerance")) {
        return needs("--tolerance: has an effect only with --locate");
      }
      return {};
    case GoldenCommand::kDiff:
      if (files != 2) {
        return needs("diff: takes two goldens (" + std::to_string(files) +
                     " given); write vt-golden diff A.json B.json");
      }
      if (o.files[0] == "-" && o.files[1] == "-") {
        return needs("diff: only one of the two goldens can be stdin");
      }
      return {};
    case GoldenCommand::kImport:
      if (files != 1) {
        return needs("import: takes one file (" + std::to_string(files) + " given)");
      }
      if (o.from.empty()) {
        return needs("--from: none given (allowed: llama-server, vllm, openai-logprobs, hf)");
      }
      return {};
    case GoldenCommand::kSelfTest:
      if (files > 0) return needs("\"" + ValidUtf8(o.files[0]) + "\": not a flag");
      if (o.golden_file.empty()) return needs("--golden: none given; write --golden G.json");
      if (o.run.model.empty()) return needs("--model: no model file given; write -m FILE");
      return {};
    case GoldenCommand::kNone:
      break;
  }
  return {};
}

}  // namespace

std::vector<Flag> GoldenEngineFlags(RunOptions* run) {
  return RunRows(run, {"device", "plan", "force", "sim", "ctx", "threads", "ubatch", "kv-type",
                       "exact", "tier", "isa", "kernel"});
}

std::vector<Flag> GoldenFlags(GoldenOptions* o) {
  std::vector<Flag> t;
  switch (o->command) {
    case GoldenCommand::kNone:
      break;
    case GoldenCommand::kRecord:
      AddRecordFlags(t, o);
      AddRows(t, RunRows(&o->run, {"special", "no-bos", "system", "tools", "chat-template", "date",
                                   "bos-token", "eos-token"}));
      break;
    case GoldenCommand::kCheck:
      AddCheckFlags(t, o);
      AddOutputFlags(t, o);
      break;
    case GoldenCommand::kDiff:
      t.push_back(NumberFlag(Row("tie", "M", "margin under which two tokens tie"), &o->limits.tie));
      t.push_back(
          SwitchFlag(Row("allow-ties", "", "a near tie is good enough"), &o->limits.allow_ties));
      t.push_back(LimitsFlag(Row("limits", "LIST", "distances allowed"), &o->limits));
      AddOutputFlags(t, o);
      break;
    case GoldenCommand::kImport:
      t.push_back(ChoiceFlag(Row("from", "FORM", "llama-server, vllm, openai-logprobs or hf"),
                             &o->from, {"llama-server", "vllm", "openai-logprobs", "hf"}));
      t.push_back(
          WithLetter('o', NameFlag(Row("out", "FILE", "the golden; - is stdout"), &o->out)));
      t.back().default_text = "-";
      t.push_back(WithLetter(
          'm', NameFlag(Row("model", "FILE", "GGUF file: its digests, ids of texts, chat template"),
                        &o->run.model)));
      t.push_back(NameFlag(Row("oracle-version", "TEXT", "version of the program that answered"),
                           &o->oracle_version));
      AddRows(t, RunRows(&o->run, {"chat-template", "date"}));
      break;
    case GoldenCommand::kSelfTest:
      t.push_back(NameFlag(Row("golden", "FILE", "vt.golden/1"), &o->golden_file));
      t.push_back(WithLetter('m', NameFlag(Row("model", "FILE",
                                               "GGUF file; a copy of it is spoilt, "
                                               "in TMPDIR"),
                                           &o->run.model)));
      t.push_back(SwitchFlag(Row("any-digest", "", "also a file that is not the golden's"),
                             &o->any_digest));
      t.push_back(NumberFlag(Row("tie", "M", "margin under which two tokens tie"), &o->limits.tie));
      t.push_back(LimitsFlag(Row("limits", "LIST", "distances allowed"), &o->limits));
      AddOutputFlags(t, o);
      break;
  }
  if (o->command == GoldenCommand::kRecord || o->command == GoldenCommand::kCheck ||
      o->command == GoldenCommand::kSelfTest) {
    AddRows(t, GoldenEngineFlags(&o->run));
  }
  t.push_back(SwitchFlag(Row("quiet", "", "no progress, notes or summary on stderr"), &o->quiet));
  t.push_back(WithLetter('h', SwitchFlag(Row("help", "", "this text"), &o->help)));
  return t;
}

Status ParseGoldenArgs(std::span<const std::string_view> args, GoldenOptions* options,
                       std::vector<Flag>* table) {
  // Greedy throughout: a golden is a fact, not a draw.
  SamplerOptions& sampler = options->run.sampler;
  sampler.temperature = 0;
  sampler.top_k = 0;
  sampler.top_p = 1;
  sampler.min_p = 0;
  options->run.max_tokens = 32;
  options->run.jsonl = true;
  if (args.empty()) return InvalidError("no subcommand given; --help lists them");
  if (AsksForHelp(args.first(1))) {
    options->help = true;
    return {};
  }
  if (args[0] == "--version") {
    options->version = true;
    return {};
  }
  std::vector<std::string_view> names;
  for (const CommandName& one : kCommands) {
    names.push_back(one.name);
    if (one.name == args[0]) options->command = one.command;
  }
  if (options->command == GoldenCommand::kNone) {
    return InvalidError("\"" + ValidUtf8(args[0]) + "\": no subcommand; the nearest is " +
                        std::string(NearestName(args[0], names)));
  }
  *table = GoldenFlags(options);
  args = args.subspan(1);
  if (AsksForHelp(args)) {
    options->help = true;
    return {};
  }
  SplitArguments split = SplitFiles(*table, args);
  options->files = std::move(split.files);
  VT_ASSIGN_OR_RETURN(options->given, ParseFlags(*table, split.flags));
  return CheckRules(*options);
}

bool GoldenJsonWanted(const GoldenOptions& options) {
  if (options.help || options.version) return false;
  if (options.command == GoldenCommand::kRecord || options.command == GoldenCommand::kImport) {
    return options.out == "-";
  }
  return AnswersInJson(options.json, options.table);
}

Result<RunOptions> ParseAgainst(std::string_view text, const RunOptions& base) {
  RunOptions other = base;
  std::vector<std::string> words;
  std::string word;
  for (const char c : std::string(text) + " ") {
    if (c != ' ' && c != ',') {
      word.push_back(c);
    } else if (!word.empty()) {
      words.push_back("--" + word.substr(word.starts_with("--") ? 2 : 0));
      word.clear();
    }
  }
  if (words.empty()) return InvalidError("--against: names no flag");
  std::vector<Flag> table = GoldenEngineFlags(&other);
  table.push_back(NameFlag(Row("model", "FILE", "another model"), &other.model));
  const std::vector<std::string_view> views(words.begin(), words.end());
  // Kernels given for both would contradict each other: the second set is its own.
  if (std::any_of(words.begin(), words.end(),
                  [](const std::string& one) { return one.starts_with("--kernel"); })) {
    other.kernels.clear();
  }
  const Result<GivenFlags> given = ParseFlags(table, views);
  if (!given.ok()) return given.status().Annotate("--against");
  return other;
}

std::string GoldenHelp(const GoldenOptions& options, std::span<const Flag> table) {
  if (options.command == GoldenCommand::kNone) {
    return "usage: vt-golden SUBCOMMAND [flags]     vt-golden SUBCOMMAND --help\n\n"
           "  record      makes a golden: what a model answers, token by token\n"
           "  check       compares a model, or a finished vt-run --json, with a golden\n"
           "  diff        compares two goldens\n"
           "  import      makes a golden of what llama-server, vLLM or others answered\n"
           "  self-test   shows that check notices every kind of damage\n\n"
           "Exit codes: 0 same, 1 not the same or nothing compared, 2 bad usage or input,\n"
           "3 bad or missing model file, 4 unsupported here, 5 out of memory,\n"
           "77 no model file (only with --allow-skip), 130 interrupted.\n";
  }
  std::string text;
  for (const CommandName& one : kCommands) {
    if (one.command == options.command) text = one.usage;
  }
  std::vector<Flag> own;
  std::string engine;
  for (const Flag& flag : table) {
    if (flag.group == "As vt-run") {
      engine += (engine.empty() ? "--" : " --") + std::string(flag.name);
    } else {
      own.push_back(flag);
    }
  }
  // One heading less than FlagHelp writes.
  std::string rows = FlagHelp(own);
  rows.erase(0, rows.find(":\n") + 2);
  text += rows;
  if (!engine.empty()) text += Hanging("As vt-run:", 12, engine);
  return text;
}

}  // namespace vt::cli
