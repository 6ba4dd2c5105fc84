#include "formats/gguf_split.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "formats/file_error.h"

namespace vt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoKey = "split.no";
constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kTensorsKey = "split.tensors.count";
constexpr std::uint64_t kMaxShards = 65535;  // split.count is a u16
constexpr std::size_t kNamesShown = 10;

std::string Number(std::uint64_t value) { return std::to_string(value); }

struct SplitKeys {
  std::uint64_t count = 1;
  std::optional<std::uint64_t> no;
  std::optional<std::uint64_t> tensors;
};

Result<SplitKeys> ReadSplitKeys(const std::string& path, const GgufHeader& header) {
  SplitKeys keys;
  VT_ASSIGN_OR_RETURN(const std::optional<std::uint64_t> count,
                      ReadU64(path, kCountKey, header.Find(kCountKey)));
  VT_ASSIGN_OR_RETURN(keys.no, ReadU64(path, kNoKey, header.Find(kNoKey)));
  VT_ASSIGN_OR_RETURN(keys.tensors, ReadU64(path, kTensorsKey, header.Find(kTensorsKey)));
  // Merged files keep the keys with a count of 0.
  keys.count = std::max<std::uint64_t>(count.value_or(1), 1);
  if (keys.count > kMaxShards) {
    return FileCorrupt(path, "key " + Quoted(kCountKey) + ": " + Number(keys.count) +
                                 " (allowed up to " + Number(kMaxShards) + ")");
  }
  if (keys.count == 1) return keys;
  if (!keys.no) {
    return FileCorrupt(path, "key " + Quoted(kNoKey) + " is missing in a file with split.count " +
                                 Number(keys.count));
  }
  if (*keys.no >= keys.count) {
    return FileCorrupt(path, "key " + Quoted(kNoKey) + ": " + Number(*keys.no) + " (allowed 0 to " +
                                 Number(keys.count - 1) + ")");
  }
  return keys;
}

Result<OpenShard> Open(const std::string& path) {
  OpenShard shard;
  shard.path = path;
  VT_ASSIGN_OR_RETURN(shard.file, MappedFile::Open(path));
  VT_ASSIGN_OR_RETURN(shard.header, ParseGgufHeader(path, shard.file));
  return shard;
}

// `path` and what each symbolic link it leads through points to.
std::vector<std::string> LinkChain(const std::string& path) {
  constexpr std::size_t kMaxLinks = 40;
  std::vector<std::string> chain = {path};
  std::error_code error;
  while (chain.size() < kMaxLinks && fs::is_symlink(chain.back(), error)) {
    const fs::path target = fs::read_symlink(chain.back(), error);
    if (error) break;
    chain.push_back((fs::path(chain.back()).parent_path() / target).string());
  }
  return chain;
}

struct Siblings {
  SplitName name;
  std::vector<std::string> missing;
};

Siblings Look(const SplitName& name) {
  Siblings found{name, {}};
  std::error_code error;
  for (std::uint32_t i = 1; i <= name.total; ++i) {
    std::string path = name.Path(i);
    if (!fs::exists(path, error)) found.missing.push_back(std::move(path));
  }
  return found;
}

Status Missing(const std::string& path, const Siblings& siblings) {
  std::string names;
  for (const std::string& missing : siblings.missing) {
    if (&missing - siblings.missing.data() == kNamesShown) {
      names += " and " + Number(siblings.missing.size() - kNamesShown) + " more";
      break;
    }
    names += (names.empty() ? "" : ", ") + fs::path(missing).filename().string();
  }
  return FileCorrupt(path, Number(siblings.missing.size()) + " of " + Number(siblings.name.total) +
                               " shards are missing: " + names + "; put all shards in one folder");
}

Result<SplitName> FindSiblings(const std::string& path, const SplitKeys& keys) {
  std::optional<Siblings> best;
  std::optional<SplitName> other;
  for (const std::string& link : LinkChain(path)) {
    const std::optional<SplitName> name = ParseSplitName(link);
    if (!name) continue;
    if (name->total != keys.count || name->number < 1 || name->number > name->total) {
      other = name;
      continue;
    }
    Siblings found = Look(*name);
    if (found.missing.empty()) return *name;
    if (!best || found.missing.size() < best->missing.size()) best = std::move(found);
  }
  if (best) return Missing(path, *best);
  const std::string what =
      "shard " + Number(*keys.no + 1) + " of " + Number(keys.count) + " (split.no, split.count)";
  if (other) {
    return FileCorrupt(path, what + ", but its name says " + Number(other->number) + " of " +
                                 Number(other->total) + "; give the shards their own names back");
  }
  return FileCorrupt(path, what +
                               ", but its name does not end in -00001-of-00003.gguf or the like, "
                               "so the other shards cannot be found; give the shards their own "
                               "names back");
}

// Every split.no once, one split.count, split.tensors.count tensors in all.
Status CheckSet(const std::vector<OpenShard>& shards, const std::vector<SplitKeys>& keys) {
  std::vector<const OpenShard*> owner(shards.size());
  std::uint64_t tensors = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (keys[i].count != shards.size()) {
      return FileCorrupt(shards[i].path, "key " + Quoted(kCountKey) + ": " + Number(keys[i].count) +
                                             ", but it is named as one of " +
                                             Number(shards.size()) +
                                             " shards; a shard is of another model");
    }
    const OpenShard*& mine = owner[static_cast<std::size_t>(*keys[i].no)];
    if (mine) {
      return FileCorrupt(shards[i].path, "key " + Quoted(kNoKey) + ": " + Number(*keys[i].no) +
                                             ", the same as in " + mine->path +
                                             "; one of them is a copy, fetch it again");
    }
    mine = &shards[i];
    tensors += shards[i].header.tensors.size();
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (keys[i].tensors && *keys[i].tensors != tensors) {
      return FileCorrupt(shards[i].path, "key " + Quoted(kTensorsKey) + ": " +
                                             Number(*keys[i].tensors) + " (the " +
                                             Number(shards.size()) + " shards hold " +
                                             Number(tensors) + "); a shard is of another model");
    }
  }
  return {};
}

Status CheckNames(const std::vector<OpenShard>& shards) {
  NameIndex seen;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (const GgufTensor& tensor : shards[i].header.tensors) {
      const auto [place, is_new] = seen.emplace(tensor.name, i);
      if (is_new) continue;
      return FileCorrupt(shards[i].path, "tensor " + Quoted(tensor.name) + " is also in " +
                                             shards[place->second].path);
    }
  }
  return {};
}

Result<std::vector<OpenShard>> OpenAll(OpenShard given, const SplitKeys& given_keys) {
  VT_ASSIGN_OR_RETURN(const SplitName name, FindSiblings(given.path, given_keys));
  std::vector<OpenShard> shards;
  std::vector<SplitKeys> keys;
  std::uint64_t tensors = 0;
  given.path = name.Path(name.number);
  for (std::uint32_t i = 1; i <= name.total; ++i) {
    if (i == name.number) {
      shards.push_back(std::move(given));  // NOLINT(bugprone-use-after-move): once in this loop
      keys.push_back(given_keys);
    } else {
      VT_ASSIGN_OR_RETURN(OpenShard shard, Open(name.Path(i)));
      VT_ASSIGN_OR_RETURN(SplitKeys shard_keys, ReadSplitKeys(shard.path, shard.header));
      shards.push_back(std::move(shard));
      keys.push_back(shard_keys);
    }
    OpenShard& last = shards.back();
    if (keys.back().no.value_or(0) != 0) {
      last.header.metadata = {};
      last.header.keys = {};
    }
    tensors += last.header.tensors.size();
    if (tensors > kGgufMaxTensors) {
      return FileUnsupported(last.path, "more than " + Number(kGgufMaxTensors) +
                                            " tensors in the shards (the most that is read)");
    }
  }
  VT_RETURN_IF_ERROR(CheckSet(shards, keys));
  VT_RETURN_IF_ERROR(CheckNames(shards));

  std::vector<OpenShard> ordered(shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto no = static_cast<std::size_t>(*keys[i].no);
    for (GgufTensor& tensor : shards[i].header.tensors) {
      tensor.shard = static_cast<std::uint32_t>(no);
    }
    ordered[no] = std::move(shards[i]);
  }
  return ordered;
}

}  // namespace

std::string SplitName::Path(std::uint32_t shard_number) const {
  const auto padded = [this](std::uint32_t value) {
    std::string text = Number(value);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    return text;
  };
  return prefix + "-" + padded(shard_number) + "-of-" + padded(total) + ".gguf";
}

std::optional<SplitName> ParseSplitName(const std::string& path) {
  constexpr std::string_view kEnd = ".gguf";
  constexpr std::string_view kOf = "-of-";
  static constexpr std::string_view kDigits = "0123456789";
  std::string_view rest = path;
  // Takes "<separator><digits>" off the end of `rest`.
  const auto take_number = [&rest](std::string_view separator) -> std::string_view {
    const std::size_t last_other = rest.find_last_not_of(kDigits);
    if (last_other == std::string_view::npos) return {};
    const std::string_view digits = rest.substr(last_other + 1);
    const std::string_view before = rest.substr(0, last_other + 1);
    if (digits.empty() || digits.size() > 9 || !before.ends_with(separator)) return {};
    rest = before.substr(0, before.size() - separator.size());
    return digits;
  };
  if (!rest.ends_with(kEnd)) return std::nullopt;
  rest.remove_suffix(kEnd.size());
  const std::string_view total = take_number(kOf);
  if (total.empty()) return std::nullopt;
  const std::string_view number = take_number("-");
  if (number.size() != total.size()) return std::nullopt;
  SplitName name;
  name.prefix = rest;
  name.digits = total.size();
  std::from_chars(number.data(), number.data() + number.size(), name.number);
  std::from_chars(total.data(), total.data() + total.size(), name.total);
  return name;
}

Result<std::vector<OpenShard>> OpenShards(const std::string& path) {
  VT_ASSIGN_OR_RETURN(OpenShard given, Open(path));
  VT_ASSIGN_OR_RETURN(const SplitKeys keys, ReadSplitKeys(path, given.header));
  if (keys.count > 1) return OpenAll(std::move(given), keys);
  std::vector<OpenShard> one;
  one.push_back(std::move(given));
  return one;
}

}  // namespace vt
