// vt-bench synth: a model of random weights.
#include "base/json.h"
#include "base/size_text.h"
#include "base/text_layout.h"
#include "bench/synth.h"
#include "cli/bench_commands.h"
#include "cli/version.h"
#include "formats/model_document.h"

namespace vt::cli {
namespace {

// A name of the list, or a file: a GGUF model, or a vt.model/1 document ("-": on stdin).
Result<SynthModel> ReadShape(const std::string& shape, Console& console) {
  const bool document = shape == "-" || shape.ends_with(".json");
  if (document) {
    VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(shape, console.interrupted_flag()));
    const Result<ModelDocument> model = ReadModelDocument(text);
    if (!model.ok()) return model.status().Annotate("--shape " + ValidUtf8(shape));
    return ShapeOf(model->file);
  }
  if (shape.ends_with(".gguf")) {
    VT_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(shape));
    return ShapeOf(file);
  }
  return NamedShape(shape);
}

}  // namespace

Result<int> BenchSynthCommand(std::span<const std::string_view> args, Console& console) {
  std::string shape, type = "q4_k_m";
  std::int64_t layers = 0, seed = 1;
  BenchOutput output;
  std::vector<Flag> table;
  table.push_back(NameFlag(BenchRow("shape", "NAME", "a name, FILE.gguf, or FILE.json"), &shape));
  table.push_back(NameFlag(
      WithDefault(type, BenchRow("type", "TYPE", "q4_k_m, as-is, or one for all: q8_0, f16")),
      &type));
  table.push_back(
      IntegerFlag(BenchRow("layers", "N", "only the first N; 0: all"), &layers, 0, 100000));
  table.push_back(
      IntegerFlag(BenchRow("seed", "N", "the same seed gives the same file"), &seed, 0));
  AddOutputFlags(table, &output, "the GGUF file to write");
  AddTableFlag(table, &output);
  std::string names;
  for (const std::string_view name : SynthShapes()) {
    names.append(names.empty() ? "" : ", ").append(name);
  }
  VT_ASSIGN_OR_RETURN(
      const bool helped,
      ParseBenchFlags(args, table, "usage: vt-bench synth --shape NAME -o FILE.gguf [flags]\n",
                      "Names: " + names +
                          ".\nFILE.json is what vt-run --describe prints (-: stdin). Docs: "
                          "docs/howto/bench.md\n",
                      console));
  if (helped) return 0;
  if (shape.empty()) return InvalidError("--shape: not given (names: " + names + ")");
  if (output.file.empty()) return InvalidError("--output: not given; name the file to write");
  VT_ASSIGN_OR_RETURN(SynthModel model, ReadShape(shape, console));
  if (layers > 0) VT_RETURN_IF_ERROR(CutLayers(model, layers));
  VT_RETURN_IF_ERROR(SetTypes(model, type));
  SynthOptions options{.path = output.file,
                       .seed = static_cast<std::uint64_t>(seed),
                       .cancel = &console.interrupted_flag(),
                       .progress = nullptr};
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    console.Progress("writing", done, total);
  };
  VT_ASSIGN_OR_RETURN(const SynthAnswer answer, WriteSynth(model, options));
  console.ClearProgress();
  if (!output.json_wanted()) {
    VT_RETURN_IF_ERROR(console.Write(
        output.file + ": " + model.name + ", " + std::to_string(model.layers) + " layers, " +
        std::to_string(answer.parameters) + " random weights, " + SizeText(answer.bytes) + "\n"));
    return 0;
  }
  VT_ASSIGN_OR_RETURN(const GgufFile written, GgufFile::Open(output.file));
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.bench-synth/1");
  WriteTool(json);
  json.Field("file", output.file).Field("digest", written.HeaderDigest());
  json.Field("architecture", model.architecture).Field("name", model.name);
  json.Field("layers", model.layers).Field("seed", seed).Field("bytes", answer.bytes);
  json.Field("parameters", answer.parameters);
  VT_RETURN_IF_ERROR(console.WriteLine(json.EndObject().Take()));
  return 0;
}

}  // namespace vt::cli
