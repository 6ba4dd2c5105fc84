#include "formats/hf_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "formats/file_error.h"
#include "formats/hf_architecture.h"
#include "formats/hf_index.h"
#include "formats/hf_tensors.h"
#include "formats/hf_tokenizer.h"
#include "formats/safetensors.h"

namespace vt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kEnding = ".safetensors";
constexpr std::size_t kNamesShown = 10;
constexpr std::uint64_t kMaxShards = 65535;

std::string Number(std::uint64_t value) { return std::to_string(value); }

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string Join(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kNamesShown) text += " and " + Number(names.size() - kNamesShown) + " more";
  return text;
}

class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) {}

  Result<GgufContents> Open();

 private:
  std::string At(std::string_view name) const { return (fs::path(path_) / name).string(); }
  Status Map(std::string_view name);
  Status MapOptional(std::string_view name);
  const MappedFile* File(std::string_view name) const;
  Result<std::vector<std::string>> FindShards();
  Result<std::vector<std::string>> ShardsWithoutIndex() const;
  Status ReadShard(const std::string& name);
  Status CheckTensors() const;
  Status AddKeys(const HfArchitecture& architecture, HfModel& model) const;

  std::string path_;
  GgufContents contents_;
  std::vector<std::string> names_;  // of shards, as in the folder
  std::vector<HfIndexEntry> index_;
  std::vector<SafetensorsTensor> stored_;
};

Status Folder::Map(std::string_view name) {
  const std::string path = At(name);
  VT_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  contents_.shards.push_back({.path = path,
                              .file_bytes = file.size(),
                              .header_bytes = file.size(),
                              .version = 0,
                              .base = file.data()});
  contents_.files.push_back(std::move(file));
  names_.emplace_back(name);
  return {};
}

Status Folder::MapOptional(std::string_view name) {
  return Exists(At(name)) ? Map(name) : Status();
}

const MappedFile* Folder::File(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? nullptr
                               : &contents_.files[static_cast<std::size_t>(found - names_.begin())];
}

Result<std::vector<std::string>> Folder::FindShards() {
  const MappedFile* const index = File(kIndex);
  if (!index) return ShardsWithoutIndex();
  VT_ASSIGN_OR_RETURN(index_, ReadHfIndex(At(kIndex), *index, contents_.texts));
  std::set<std::string> names;
  for (const HfIndexEntry& entry : index_) names.emplace(entry.file);
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (!Exists(At(name))) missing.push_back(name);
  }
  if (!missing.empty()) {
    return FileCorrupt(At(kIndex), Number(missing.size()) + " of the " + Number(names.size()) +
                                       " files that it names are missing: " + Join(missing) +
                                       "; put all of them in one folder");
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Result<std::vector<std::string>> Folder::ShardsWithoutIndex() const {
  if (Exists(At(kSingle))) return std::vector{std::string(kSingle)};
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(kEnding)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) {
    return FileCorrupt(path_,
                       "has a config.json but no *.safetensors file; fetch the weights, or "
                       "give a GGUF file");
  }
  const bool split =
      names[0].find("-of-") != std::string::npos && !names[0].ends_with("-of-00001.safetensors");
  if (names.size() == 1 && !split) return names;
  return FileCorrupt(path_, Number(names.size()) + " safetensors files (" + Join(names) +
                                ") but no " + std::string(kIndex) +
                                " that says which belong to the model; fetch it");
}

Status Folder::ReadShard(const std::string& name) {
  VT_RETURN_IF_ERROR(Map(name));
  GgufShard& shard = contents_.shards.back();
  VT_ASSIGN_OR_RETURN(SafetensorsHeader header,
                      ParseSafetensors(shard.path, contents_.files.back(), contents_.texts));
  shard.header_bytes = header.bytes;
  if (stored_.size() + header.tensors.size() > kSafetensorsMaxTensors) {
    return FileUnsupported(shard.path, "more than " + Number(kSafetensorsMaxTensors) +
                                           " tensors in the files (the most that is read)");
  }
  for (SafetensorsTensor& tensor : header.tensors) {
    tensor.shard = static_cast<std::uint32_t>(contents_.shards.size() - 1);
    stored_.push_back(tensor);
  }
  return {};
}

// Each name once, and each where the index says.
Status Folder::CheckTensors() const {
  NameIndex seen;
  seen.reserve(stored_.size());
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    const auto [place, is_new] = seen.emplace(stored_[i].name, i);
    if (is_new) continue;
    return FileCorrupt(contents_.shards[stored_[i].shard].path,
                       "tensor " + Quoted(stored_[i].name) + " is also in " +
                           contents_.shards[stored_[place->second].shard].path);
  }
  for (const HfIndexEntry& entry : index_) {
    const auto found = seen.find(entry.tensor);
    if (found != seen.end() && names_[stored_[found->second].shard] == entry.file) continue;
    return FileCorrupt(
        At(kIndex),
        "tensor " + Quoted(entry.tensor) + ": is not in " + Quoted(entry.file) +
            (found == seen.end() ? std::string(" nor in any other shard")
                                 : ", but in " + Quoted(names_[stored_[found->second].shard])) +
            "; the index is of another model, fetch the folder again");
  }
  return {};
}

Status Folder::AddKeys(const HfArchitecture& architecture, HfModel& model) const {
  HfMetadata& out = model.metadata;
  out.String("general.architecture", architecture.gguf);
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path_, error);
  const std::string name = (error ? fs::path(path_) : whole).filename().string();
  if (!name.empty()) out.String("general.name", name);
  for (const HfKeyRow& row : architecture.keys) {
    if (!row.required && !model.config.Has(row.hf)) continue;
    if (row.type == HfKeyRow::Type::kU32) {
      VT_ASSIGN_OR_RETURN(const std::uint64_t value, model.config.NeedU64(row.hf));
      out.U32(out.Key(row.gguf), value);
    } else {
      VT_ASSIGN_OR_RETURN(const double value, model.config.NeedF64(row.hf));
      out.F32(out.Key(row.gguf), value);
    }
  }
  return architecture.finish(model);
}

Result<GgufContents> Folder::Open() {
  if (!Exists(At(kConfig))) {
    return FileCorrupt(path_,
                       "a folder without config.json (a model's folder has one); give a GGUF "
                       "file or a Hugging Face model folder");
  }
  VT_RETURN_IF_ERROR(Map(kConfig));
  for (const std::string_view name :
       {std::string_view("generation_config.json"), std::string_view("tokenizer.json"),
        std::string_view("tokenizer_config.json"), std::string_view("chat_template.jinja"),
        kIndex}) {
    VT_RETURN_IF_ERROR(MapOptional(name));
  }
  VT_ASSIGN_OR_RETURN(HfConfig config, HfConfig::Read(At(kConfig), *File(kConfig)));
  config.Prefer("text_config");
  VT_ASSIGN_OR_RETURN(const HfArchitecture* const architecture, FindHfArchitecture(config));
  HfMetadata metadata(contents_, architecture->gguf);
  HfModel model{config, metadata, {}};
  VT_RETURN_IF_ERROR(AddKeys(*architecture, model));

  VT_ASSIGN_OR_RETURN(const std::vector<std::string> shards, FindShards());
  if (shards.size() > kMaxShards) {
    return FileUnsupported(
        At(kIndex), Number(shards.size()) + " files (at most " + Number(kMaxShards) + " are read)");
  }
  for (const std::string& name : shards) VT_RETURN_IF_ERROR(ReadShard(name));
  VT_RETURN_IF_ERROR(CheckTensors());
  VT_RETURN_IF_ERROR(MapHfTensors(*architecture, model, stored_, contents_));

  const HfTokenizerFiles files{.folder = path_,
                               .tokenizer = File("tokenizer.json"),
                               .tokenizer_config = File("tokenizer_config.json"),
                               .generation_config = File("generation_config.json"),
                               .chat_template = File("chat_template.jinja")};
  VT_RETURN_IF_ERROR(AddHfTokenizer(files, config, contents_.texts, metadata));
  return std::move(contents_);
}

}  // namespace

std::string HfFolderOf(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return path;
  const fs::path name = fs::path(path).filename();
  const std::string text = name.string();
  if (text != kConfig && !text.ends_with(kEnding) && !text.ends_with(".safetensors.index.json")) {
    return {};
  }
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Result<GgufContents> OpenHfFolder(const std::string& folder) { return Folder(folder).Open(); }

}  // namespace vt
