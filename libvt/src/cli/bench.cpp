#include "cli/bench.h"

#include <algorithm>
#include <string>

#include "base/near_names.h"
#include "cli/bench_commands.h"
#include "cli/tool.h"
#include "cli/version.h"

namespace vt::cli {
namespace {

struct Command {
  std::string_view name, doc;
  BenchCommandFn* run;
};

constexpr Command kCommands[] = {
    {"run", "measures a model: prefill, decode, batches, depths", BenchRunCommand},
    {"compare", "two commands by turns, or two records: which is faster", BenchCompareCommand},
    {"floor", "a record against rates that must be reached", BenchFloorCommand},
    {"synth", "writes a model of random weights in a real geometry", BenchSynthCommand},
    {"ops", "each kernel against what this machine can do", BenchOpsCommand},
    {"calibrate", "measures this machine and writes its profile", BenchCalibrateCommand},
};

std::string Help() {
  std::string text = "usage: vt-bench COMMAND [flags]\n\n";
  for (const Command& command : kCommands) {
    text.append("  ").append(command.name).append(12 - command.name.size(), ' ');
    text.append(command.doc).append("\n");
  }
  text +=
      "\nvt-bench COMMAND --help lists a command's flags; --version is the version.\n"
      "Exit codes: 0 measured, 1 a \"no\" that was asked for (--strict, floors),\n"
      "2 bad usage or input, 3 bad model file, 4 unsupported here, 5 out of memory,\n"
      "6 a bug or a device error, 130 interrupted.\n";
  return text;
}

Result<int> Run(std::span<const std::string_view> args, Console& console) {
  if (args.empty()) {
    return InvalidError("vt-bench: no command; write vt-bench run -m FILE (--help lists all)");
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    return WriteAnswer(console, Help());
  }
  if (args[0] == "--version") return WriteAnswer(console, VersionText("vt-bench"));
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    if (command.name == args[0]) return command.run(args.subspan(1), console);
    names.push_back(command.name);
  }
  return InvalidError("\"" + ValidUtf8(args[0]) + "\": no such command; the nearest is " +
                      std::string(NearestName(args[0], names)) + " (vt-bench --help lists all)");
}

}  // namespace

int RunBenchTool(std::span<const std::string_view> args) {
  // Each subcommand reads its own flags, after the console is there.
  const auto parse = [&] {
    const bool quiet = std::find(args.begin(), args.end(), "--quiet") != args.end();
    return ToolStart{{}, false, quiet};
  };
  return ToolMain("vt-bench", args, parse, [&](Console& console) { return Run(args, console); });
}

}  // namespace vt::cli
