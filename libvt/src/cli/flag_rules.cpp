#include "cli/flag_rules.h"

#include <algorithm>

namespace vt::cli {
namespace {

std::string Dashed(std::string_view name) { return "--" + std::string(name); }

}  // namespace

Status CheckEffect(std::span<const Flag> table, const GivenFlags& given, unsigned mode,
                   std::string_view mode_name) {
  for (const Flag& flag : table) {
    if (!given.contains(flag.name) || (flag.modes & mode) != 0) continue;
    return InvalidError(Dashed(flag.name) + ": has no effect with " + std::string(mode_name) +
                        "; leave it out");
  }
  return {};
}

Status CheckExclusive(const GivenFlags& given, std::initializer_list<FlagPair> pairs) {
  for (const auto& [a, b] : pairs) {
    if (!given.contains(a) || !given.contains(b)) continue;
    return InvalidError(Dashed(a) + " and " + Dashed(b) + " contradict each other; give one");
  }
  return {};
}

Status CheckAlternatives(const GivenFlags& given) {
  return CheckExclusive(
      given, {{"json", "table"}, {"caps", "profile"}, {"caps", "sim"}, {"profile", "sim"}});
}

Status CheckNeeds(const GivenFlags& given, std::initializer_list<FlagPair> pairs) {
  for (const auto& [flag, other] : pairs) {
    if (!given.contains(flag) || given.contains(other)) continue;
    return InvalidError(Dashed(flag) + ": has an effect only with " + Dashed(other));
  }
  return {};
}

Status CheckStdin(std::span<const NamedFile> files) {
  const NamedFile* first = nullptr;
  for (const NamedFile& one : files) {
    if (one.file != "-") continue;
    if (first) {
      return InvalidError(std::string(first->who) + " and " + std::string(one.who) +
                          " both read stdin; give one of them a file");
    }
    first = &one;
  }
  return {};
}

bool AsksForHelp(std::span<const std::string_view> args) {
  return std::any_of(args.begin(), args.end(), [](std::string_view argument) {
    return argument == "--help" || argument == "-h";
  });
}

SplitArguments SplitFiles(std::span<const Flag> table, std::span<const std::string_view> args) {
  SplitArguments split;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].size() < 2 || args[i][0] != '-') {
      split.files.emplace_back(args[i]);
      continue;
    }
    split.flags.push_back(args[i]);
    const Flag* flag = FindFlag(table, args[i]);
    if (flag && !flag->is_switch() && i + 1 < args.size()) split.flags.push_back(args[++i]);
  }
  return split;
}

}  // namespace vt::cli
