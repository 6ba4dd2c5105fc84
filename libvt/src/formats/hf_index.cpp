#include "formats/hf_index.h"

#include "formats/file_error.h"
#include "formats/json_cursor.h"
#include "formats/name_hash.h"
#include "formats/safetensors.h"

namespace vt {

Result<std::vector<HfIndexEntry>> ReadHfIndex(const std::string& path, const MappedFile& file,
                                              TextArena& texts) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()),
                              static_cast<std::size_t>(file.size()));
  JsonCursor json(text, texts);
  std::vector<HfIndexEntry> entries;
  NameIndex seen;
  bool found = false;
  std::string_view key;
  json.EnterObject();
  while (json.NextKey(key)) {
    if (key != "weight_map" || found) {
      if (key == "weight_map") return FileCorrupt(path, "key \"weight_map\" occurs twice");
      json.Skip();
      continue;
    }
    found = true;
    json.EnterObject();
    HfIndexEntry entry;
    while (json.NextKey(entry.tensor) && json.ReadString(entry.file)) {
      if (!seen.emplace(entry.tensor, entries.size()).second) {
        return FileCorrupt(path, "tensor " + Quoted(entry.tensor) + " occurs twice");
      }
      if (entry.file.empty() || entry.file.find('/') != std::string_view::npos ||
          entry.file.find('\0') != std::string_view::npos) {
        return FileCorrupt(path, "tensor " + Quoted(entry.tensor) + ": file " + Quoted(entry.file) +
                                     " (want the name of a file beside it)");
      }
      if (entries.size() == kSafetensorsMaxTensors) {
        return FileUnsupported(path, "more than " + std::to_string(kSafetensorsMaxTensors) +
                                         " tensors (the most that is read)");
      }
      entries.push_back(entry);
    }
  }
  if (!json.Finish()) return FileCorrupt(path, "not valid JSON: " + json.error());
  if (!found) return FileCorrupt(path, "key \"weight_map\" is missing (want an object)");
  if (entries.empty()) return FileCorrupt(path, "key \"weight_map\" names no tensor");
  return entries;
}

}  // namespace vt
