#include "cli/caps_model.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/version.h"
#include "formats/model_document.h"
#include "vt/gguf.h"

namespace vt::cli {
namespace {

// A model's header from its file or from a document that describes it.
struct OpenedModel {
  std::optional<GgufFile> gguf;
  std::optional<ModelDocument> document;

  const GgufFile& file() const { return document ? document->file : *gguf; }
  Status Named(const Status& status) const {
    return document ? InTermsOf(*document, status) : status;
  }
};

// Whether `path` holds text that begins an object. What is no regular file is a pipe with a
// document: a model is mapped, which no pipe can be.
bool IsDocument(const std::string& path) {
  if (path == "-") return true;
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return false;
  if (S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode)) return true;
  if (!S_ISREG(facts.st_mode)) return false;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  char first[64];
  const ssize_t got = read(descriptor, first, sizeof first);
  close(descriptor);
  const std::string_view text(first, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '{';
}

Result<OpenedModel> OpenModel(const std::string& path, Console& console) {
  OpenedModel model;
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

// As vt-run chooses them for one sequence.
EngineOptions OptionsOf(const CapsOptions& options, const GgufFile& file) {
  EngineOptions engine;
  if (options.context > 0) {
    engine.context = static_cast<std::uint64_t>(options.context);
  } else if (const auto spec = ReadModelSpec(file); spec.ok() && spec->context_train > 0) {
    engine.context = std::min(engine.context, spec->context_train);
  }
  engine.exact = options.exact;
  if (const DTypeInfo* type = FindDType(options.kv_type)) engine.kv_type = type->type;
  return engine;
}

void Describe(const OpenedModel& model, const std::string& path, ModelReport& report) {
  const GgufFile& file = model.file();
  report.file = model.document ? model.document->name : path;
  report.digest = model.document ? model.document->digest : file.HeaderDigest();
  report.bytes = file.total_bytes();
  const auto text = [&](std::string_view key) {
    const auto value = file.GetString(key);
    return std::string(value.ok() && *value ? **value : std::string_view());
  };
  report.architecture = text("general.architecture");
  report.name = text("general.name");
}

}  // namespace

Result<int> RunCapsModel(const CapsOptions& options, const Machine& machine, Console& console) {
  std::vector<DeviceInfo> devices;
  for (const DeviceInfo& device : machine.devices) {
    if (DeviceWanted(options, device.id)) devices.push_back(device);
  }
  VT_ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(options.model, console));
  const EngineOptions engine = OptionsOf(options, model.file());
  Result<ModelNeeds> needs = FindModelNeeds(model.file(), engine, devices);
  if (!needs.ok()) return model.Named(needs.status());
  std::optional<Tier> require;
  if (!options.require.empty()) {
    VT_ASSIGN_OR_RETURN(require, ParseTier(options.require));
  }
  ModelReport report =
      JudgeModel(BuiltinKernels(), std::move(needs).value(), devices, engine, require);
  Describe(model, options.model, report);
  if (JsonWanted(options)) {
    JsonWriter json;
    json.BeginObject().Field("schema", "vt.caps-model/1");
    WriteTool(json);
    WriteModelReport(json, report);
    VT_RETURN_IF_ERROR(console.WriteLine(json.EndObject().Take()));
  } else {
    VT_RETURN_IF_ERROR(console.Write(ModelTable(report)));
  }
  return report.yes() ? 0 : ExitCode(Code::kNo);
}

}  // namespace vt::cli
