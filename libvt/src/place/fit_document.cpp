#include "place/fit_document.h"

#include "base/size_text.h"

namespace vt {
namespace {

void TextOrNull(JsonWriter& json, std::string_view key, const std::string& text) {
  json.Key(key);
  if (text.empty()) {
    json.Null();
  } else {
    json.Value(text);
  }
}

void WriteModel(JsonWriter& json, const FitModel& model) {
  json.Key("model").BeginObject();
  json.Field("file", model.file).Field("digest", model.digest);
  TextOrNull(json, "architecture", model.architecture);
  TextOrNull(json, "name", model.name);
  json.Field("bytes", model.bytes).Field("tensors", model.tensors);
  json.Key("context_train");
  if (model.context_train > 0) {
    json.Value(model.context_train);
  } else {
    json.Null();
  }
  json.EndObject();
}

// A file that runs beside the model, on a device.
void WriteBeside(JsonWriter& json, std::string_view key, const std::optional<FitModel>& model,
                 const std::string& device) {
  json.Key(key);
  if (!model) {
    json.Null();
    return;
  }
  json.BeginObject().Field("file", model->file).Field("digest", model->digest);
  TextOrNull(json, "architecture", model->architecture);
  TextOrNull(json, "name", model->name);
  json.Field("bytes", model->bytes);
  TextOrNull(json, "device", device);
  json.EndObject();
}

void WriteOptions(JsonWriter& json, const EngineOptions& options) {
  json.Key("options").BeginObject();
  json.Field("context", options.context).Field("sequences", options.sequences);
  json.Field("ubatch", options.ubatch).Field("kv_type", NameOf(options.kv_type));
  json.Field("logit_rows", options.logit_rows).Field("threads", options.threads);
  json.EndObject();
}

void WriteRow(JsonWriter& json, const FitRow& row) {
  json.BeginObject().Field("row", row.row).Field("bytes", row.bytes).Field("how", row.how);
  json.Field("disk_bytes", row.disk_bytes).EndObject();
}

void WriteBudget(JsonWriter& json, const Budget& budget) {
  json.Key("budget").BeginObject();
  json.Field("bytes", budget.bytes).Field("source", budget.source);
  json.Key("facts").BeginArray();
  for (const BudgetFact& fact : budget.facts) {
    json.BeginObject().Field("fact", fact.name).Field("bytes", fact.bytes);
    json.Field("source", fact.source).Field("used", fact.used).EndObject();
  }
  json.EndArray();
  json.Field("reserve_bytes", budget.reserve_bytes).Field("live_bytes", budget.live.bytes);
  TextOrNull(json, "live_source", budget.live.source);
  json.Field("shares_host", budget.shares_host).EndObject();
}

void WriteDevice(JsonWriter& json, const DeviceFit& device) {
  json.BeginObject().Field("id", device.id).Field("kind", NameOf(device.kind));
  TextOrNull(json, "name", device.name);
  json.Field("used", device.used).Key("rows").BeginArray();
  for (const FitRow& row : device.rows) WriteRow(json, row);
  json.EndArray();
  json.Field("need_bytes", device.need_bytes).Field("mapped_bytes", device.mapped_bytes);
  json.Key("largest");
  if (device.largest.bytes == 0) {
    json.Null();
  } else {
    json.BeginObject().Field("row", device.largest.row).Field("bytes", device.largest.bytes);
    json.EndObject();
  }
  WriteBudget(json, device.budget);
  json.Field("left_bytes", device.left_bytes);
  json.Key("taken_out").BeginObject().Field("tensors", device.taken_out_tensors);
  json.Field("bytes", device.taken_out_bytes).EndObject().EndObject();
}

void WritePool(JsonWriter& json, const PoolFit& pool) {
  json.BeginObject().Key("devices").BeginArray();
  for (const std::string& id : pool.devices) json.Value(id);
  json.EndArray();
  json.Field("need_bytes", pool.need_bytes).Field("budget_bytes", pool.budget_bytes);
  json.Field("left_bytes", pool.left_bytes).EndObject();
}

void WriteFile(JsonWriter& json, const Fit& fit) {
  json.Key("file");
  if (fit.file.bytes == 0) {
    json.Null();
    return;
  }
  const FileAccount& file = fit.file;
  json.BeginObject().Field("bytes", file.bytes).Field("header_bytes", file.header_bytes);
  json.Field("padding_bytes", file.padding_bytes).Field("kept_bytes", file.kept_bytes);
  json.Field("expanded_bytes", file.expanded_bytes);
  json.Field("streamed_bytes", file.streamed_bytes).Field("unused_bytes", file.unused_bytes);
  json.Field("computed_bytes", file.computed_bytes).EndObject();
}

void WriteRemedy(JsonWriter& json, const Remedy& remedy, const Fit& fit) {
  json.BeginObject().Field("kind", remedy.kind).Field("text", RemedyText(remedy, fit));
  json.Field("verdict", NameOf(remedy.verdict));
  json.Field("context", remedy.context).Field("kv_type", NameOf(remedy.kv_type));
  json.Field("ubatch", remedy.ubatch).Key("expert_layers");
  if (remedy.expert_layers > 0) {
    json.Value(remedy.expert_layers);
  } else {
    json.Null();
  }
  TextOrNull(json, "device", remedy.device);
  TextOrNull(json, "draft_device", remedy.draft_device);
  TextOrNull(json, "mmproj_device", remedy.mmproj_device);
  json.Field("where", remedy.where).Field("need_bytes", remedy.need_bytes);
  json.Field("saved_bytes", remedy.saved_bytes).EndObject();
}

void WriteCurve(JsonWriter& json, const FitCurve& curve, const Fit& fit) {
  json.BeginObject().Field("kv_type", NameOf(curve.kv_type));
  TextOrNull(json, "refused", curve.refused);
  json.Field("max_context", curve.max_context).Key("points").BeginArray();
  for (const FitCurve::Point& point : curve.points) {
    json.BeginObject().Field("context", point.context).Field("verdict", NameOf(point.verdict));
    json.Key("needs").BeginArray();
    for (std::size_t i = 0; i < point.need_bytes.size() && i < fit.devices.size(); ++i) {
      json.BeginObject().Field("device", fit.devices[i].id);
      json.Field("need_bytes", point.need_bytes[i]).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
}

void WriteContext(JsonWriter& json, const Fit& fit) {
  json.Key("chosen_context");
  if (!fit.chosen_context) {
    json.Null();
    return;
  }
  WriteContextChoice(json, *fit.chosen_context);
}

// "draft and projector on cpu (--draft-device cpu --mmproj-device cpu)"
std::string BesideText(const Remedy& remedy) {
  std::string what, flags;
  const auto add = [&](const char* name, const char* flag, const std::string& device) {
    if (device.empty()) return;
    what += std::string(what.empty() ? "" : " and ") + name;
    flags += std::string(flags.empty() ? "" : " ") + flag + " " + device;
  };
  add("draft", "--draft-device", remedy.draft_device);
  add("projector", "--mmproj-device", remedy.mmproj_device);
  return what + " on cpu (" + flags + ")";
}

}  // namespace

void WriteFitBody(JsonWriter& json, const FitModel& model, const Fit& fit,
                  const FitExtras& extras) {
  json.Field("verdict", NameOf(fit.verdict)).Field("context", fit.options.context);
  WriteContext(json, fit);
  json.Key("missing").BeginArray();
  for (const std::string& one : fit.missing) json.Value(one);
  json.EndArray();
  WriteModel(json, model);
  WriteBeside(json, "draft", extras.draft, fit.draft_device);
  WriteBeside(json, "mmproj", extras.projector, fit.mmproj_device);
  WriteOptions(json, fit.options);
  json.Key("devices").BeginArray();
  for (const DeviceFit& device : fit.devices) WriteDevice(json, device);
  json.EndArray().Key("pools").BeginArray();
  for (const PoolFit& pool : fit.pools) WritePool(json, pool);
  json.EndArray();
  json.Field("deficit_bytes", fit.deficit_bytes);
  TextOrNull(json, "deficit_where", fit.deficit_where);
  json.Field("paged_bytes_per_token", fit.paged_bytes);
  WriteFile(json, fit);
  json.Key("remedies").BeginArray();
  for (const Remedy& remedy : fit.remedies) WriteRemedy(json, remedy, fit);
  json.EndArray().Key("warnings").BeginArray();
  for (const FitWarning& warning : fit.warnings) {
    json.BeginObject().Field("code", warning.code);
    TextOrNull(json, "device", warning.device);
    json.Field("message", warning.message).EndObject();
  }
  json.EndArray().Key("max_context");
  if (extras.max_asked) {
    json.Value(extras.max_context);
  } else {
    json.Null();
  }
  json.Key("curves").BeginArray();
  for (const FitCurve& curve : extras.curves) WriteCurve(json, curve, fit);
  json.EndArray();
}

const DeviceFit* FindDeviceFit(const Fit& fit, std::string_view id) {
  for (const DeviceFit& device : fit.devices) {
    if (device.id == id) return &device;
  }
  return nullptr;
}

void WriteProfilesBody(JsonWriter& json, const FitModel& model,
                       const std::vector<ProfileFit>& fits) {
  WriteModel(json, model);
  json.Key("profiles").BeginArray();
  for (const ProfileFit& one : fits) {
    const DeviceFit* device = FindDeviceFit(one.fit, one.device);
    json.BeginObject().Field("profile", one.profile).Field("device", one.device);
    TextOrNull(json, "device_name", one.device_name);
    json.Field("verdict", NameOf(one.fit.verdict));
    WriteOptions(json, one.fit.options);
    WriteContext(json, one.fit);
    json.Key("need_bytes");
    json.Value(device ? std::optional(device->need_bytes) : std::nullopt);
    json.Key("budget_bytes");
    json.Value(device ? device->budget.bytes : std::nullopt);
    json.Field("deficit_bytes", one.fit.deficit_bytes);
    TextOrNull(json, "deficit_where", one.fit.deficit_where);
    json.Field("paged_bytes_per_token", one.fit.paged_bytes);
    json.Key("remedy");
    if (one.fit.remedies.empty()) {
      json.Null();
    } else {
      json.Value(RemedyText(one.fit.remedies.front(), one.fit));
    }
    json.EndObject();
  }
  json.EndArray();
}

std::string RemedyText(const Remedy& remedy, const Fit& fit) {
  std::string text;
  if (remedy.kind == "experts_on_cpu") {
    const std::string layers = std::to_string(remedy.expert_layers);
    text = "experts of " + layers + " layers on cpu (vt-place --n-cpu-moe " + layers + ")";
  } else if (!remedy.draft_device.empty() || !remedy.mmproj_device.empty()) {
    text = BesideText(remedy);
  } else if (remedy.kind == "device") {
    text = "--device " + remedy.device;
  } else {
    const auto add = [&](const std::string& flag) { text += (text.empty() ? "" : " ") + flag; };
    if (remedy.context != fit.options.context) add("--ctx " + std::to_string(remedy.context));
    if (remedy.kv_type != fit.options.kv_type) {
      add("--kv-type " + std::string(NameOf(remedy.kv_type)));
    }
    if (remedy.ubatch != fit.options.ubatch) add("--ubatch " + std::to_string(remedy.ubatch));
  }
  text += remedy.verdict == FitVerdict::kFits ? ": fits" : ": fits by paging";
  if (remedy.kind == "device") return text;
  return text + ", " + remedy.where + " needs " + SizeText(remedy.need_bytes) + ", " +
         SizeText(remedy.saved_bytes) + " less";
}

std::string VerdictText(const Fit& fit) {
  const std::string room =
      fit.deficit_bytes ? (*fit.deficit_bytes > 0
                               ? fit.deficit_where + " lacks " + SizeText(*fit.deficit_bytes)
                               : SizeText(-*fit.deficit_bytes) + " left on " + fit.deficit_where)
                        : std::string();
  switch (fit.verdict) {
    case FitVerdict::kFits:
      return room.empty() ? "fits" : "fits, " + room;
    case FitVerdict::kFitsByPaging:
      return "fits by paging " + SizeText(fit.paged_bytes.value_or(0)) + " per token: " + room;
    case FitVerdict::kDoesNotFit:
      return "does not fit: " + room;
    case FitVerdict::kCannotTell:
      break;
  }
  std::string text = "cannot tell";
  for (std::size_t i = 0; i < fit.missing.size(); ++i) {
    text += (i == 0 ? ": " : "; ") + fit.missing[i];
  }
  return text;
}

}  // namespace vt
