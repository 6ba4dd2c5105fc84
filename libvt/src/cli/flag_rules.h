// What is asked of arguments beyond each flag's own value: rules between flags, and arguments that
// belong to no flag. Like parsing, all of it looks at the arguments alone.
//
// Errors are kInvalid and name the flags as users write them.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flags.h"
#include "vt/status.h"

namespace vt::cli {

// Refuses a flag that was given and has no effect in `mode`, one bit of Flag::modes, which
// `mode_name` names: "--svg: has no effect with diff; leave it out".
Status CheckEffect(std::span<const Flag> table, const GivenFlags& given, unsigned mode,
                   std::string_view mode_name);

// Two long names, without dashes.
using FlagPair = std::pair<std::string_view, std::string_view>;

// Refuses both flags of a pair together.
Status CheckExclusive(const GivenFlags& given, std::initializer_list<FlagPair> pairs);
// The same of flags that mean one thing in every tool: --json and --table, a form of the answer;
// --caps, --profile and --sim, a machine.
Status CheckAlternatives(const GivenFlags& given);
// Refuses the first flag of a pair without the second.
Status CheckNeeds(const GivenFlags& given, std::initializer_list<FlagPair> pairs);

// A file that an argument names, and how a message calls the argument: "--caps", "the plan".
struct NamedFile {
  std::string_view who;
  std::string_view file;
};
// Refuses a second file that is stdin ("-").
Status CheckStdin(std::span<const NamedFile> files);

// Whether --help or -h is among the arguments: help is an answer to anything.
bool AsksForHelp(std::span<const std::string_view> args);

// Arguments that are flags or their values, and those that are neither, each in order.
struct SplitArguments {
  std::vector<std::string_view> flags;
  std::vector<std::string> files;
};
SplitArguments SplitFiles(std::span<const Flag> table, std::span<const std::string_view> args);

}  // namespace vt::cli
