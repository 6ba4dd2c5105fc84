#include "place/fit_beside.h"

#include "base/json_writer.h"
#include "base/size_text.h"

namespace vt {
namespace {

BesideRow& RowOn(const std::string& device, std::vector<BesideRow>& rows) {
  for (BesideRow& row : rows) {
    if (row.device == device) return row;
  }
  BesideRow& row = rows.emplace_back();
  row.device = device;
  row.row = kDraftRow;
  row.how = "an engine of its own: ";
  return row;
}

std::vector<BesideRow> DraftRows(const EnginePlan& plan) {
  std::vector<BesideRow> rows;
  for (const MemoryRow& part : plan.rows) {
    if (part.predicted_bytes == 0) continue;
    BesideRow& row = RowOn(part.device, rows);
    const bool mapped = part.how == "mapped";
    row.how += (row.bytes == 0 ? "" : ", ") + part.row + " " + SizeText(part.predicted_bytes);
    if (mapped) row.how += " (mapped)";
    row.bytes += part.predicted_bytes;
    if (mapped) {
      row.mapped_bytes += part.predicted_bytes;
    } else if (part.predicted_bytes > row.largest_bytes) {
      row.largest = std::string(kDraftRow) + "." + part.row;
      row.largest_bytes = part.predicted_bytes;
    }
  }
  return rows;
}

BesideRow ProjectorRow(const GgufFile& file, const std::string& device) {
  BesideRow row;
  row.device = device;
  row.row = kProjectorRow;
  for (const GgufTensor& tensor : file.tensors()) row.bytes += tensor.bytes;
  row.how = "kept, the file's tensors";
  row.disk_bytes = row.bytes;
  row.largest = row.row;
  row.largest_bytes = row.bytes;
  return row;
}

}  // namespace

Status CheckDraft(const GgufFile& draft_file, const ModelSpec& draft, const GgufFile& file,
                  const ModelSpec& spec) {
  VT_RETURN_IF_ERROR(CanTakeBack(spec));
  VT_RETURN_IF_ERROR(CanTakeBack(draft));
  const auto has_texts = [](const GgufFile& one) {
    const GgufValue* tokens = one.Find("tokenizer.ggml.tokens");
    return tokens && tokens->strings;
  };
  const bool comparable = has_texts(draft_file) && has_texts(file);
  if (!comparable && draft.vocab == spec.vocab) return {};
  return CheckSameVocabulary(draft_file, draft, file, spec);
}

Status CheckProjector(const GgufFile& file) {
  const auto architecture = file.GetString("general.architecture");
  const std::string name(architecture.ok() && *architecture ? **architecture : std::string_view());
  if (name == "clip") return {};
  return InvalidError("architecture \"" + ValidUtf8(name) +
                      "\" is no projector's; give a GGUF file whose general.architecture is "
                      "\"clip\"");
}

std::vector<BesideRow> RowsBeside(const FitBeside& beside, const EnginePlan* draft,
                                  const std::string& home) {
  std::vector<BesideRow> rows;
  if (draft) rows = DraftRows(*draft);
  if (beside.projector) {
    const std::string& device = beside.projector->device;
    rows.push_back(ProjectorRow(*beside.projector->file, device.empty() ? home : device));
  }
  return rows;
}

}  // namespace vt
