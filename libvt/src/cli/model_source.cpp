#include "cli/model_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "base/json.h"
#include "formats/hf_folder.h"

namespace vt::cli {
namespace {

// Whether `path` holds text that begins an object. What is no regular file is a pipe with a
// document: a model is mapped, which no pipe can be. JSON files of a model's folder are the folder.
bool IsDocument(const std::string& path) {
  if (path == "-") return true;
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return false;
  if (S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode)) return true;
  if (!S_ISREG(facts.st_mode) || !HfFolderOf(path).empty()) return false;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  char first[64];
  const ssize_t got = read(descriptor, first, sizeof first);
  close(descriptor);
  const std::string_view text(first, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '{';
}

}  // namespace

std::string ModelSource::Text(std::string_view key) const {
  const auto value = file().GetString(key);
  return std::string(value.ok() && *value ? **value : std::string_view());
}

Result<ModelSource> OpenModelSource(const std::string& path, Console& console) {
  ModelSource model;
  model.path = path;
  if (!IsDocument(path)) {
    VT_ASSIGN_OR_RETURN(model.gguf, GgufFile::Open(path));
    return model;
  }
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, console.interrupted_flag()));
  Result<ModelDocument> document = ReadModelDocument(text);
  if (!document.ok()) return document.status().Annotate(path == "-" ? "stdin" : path);
  model.document = std::move(document).value();
  return model;
}

}  // namespace vt::cli
