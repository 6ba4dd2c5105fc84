#include "golden/self_test.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "golden/damage.h"
#include "vt/model_spec.h"

namespace vt {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Why a check fails; empty when it does not.
using Complaint = std::string;

std::string TextOf(const Golden& golden) {
  JsonWriter json;
  json.BeginObject().Field("schema", kGoldenSchema);
  WriteGoldenBody(golden, json);
  return json.EndObject().Take();
}

Complaint ComplaintOf(const std::vector<CaseReport>& cases) {
  if (cases.empty()) return "nothing was compared";
  for (const CaseReport& one : cases) {
    if (one.state == CaseState::kSame || one.state == CaseState::kNearTies) continue;
    return one.name + ": " + (one.reasons.empty() ? "not the same" : one.reasons.front());
  }
  return {};
}

// An engine, and who watches it: both outlive it.
struct Watched {
  std::unique_ptr<CheckpointRecorder> checkpoints;  // where the golden has some
  std::unique_ptr<ExpertUse> use = std::make_unique<ExpertUse>();
  std::unique_ptr<Engine> engine;
};

Result<Watched> LoadWatched(const Golden& golden, const GgufFile& file, const ModelSpec& spec,
                            const SelfTestOptions& options) {
  Watched out;
  out.checkpoints = RecorderFor(golden, spec);
  const auto record =
      out.checkpoints ? out.checkpoints->Hook() : [](const OpEvent&) { return Status(); };
  EngineOptions engine = options.engine;
  engine.on_op = [record, use = out.use.get()](const OpEvent& event) {
    for (const std::int32_t expert : event.numbers) ++(*use)[event.layer][expert];
    return record(event);
  };
  LoadControl control;
  control.cancel = options.cancel;
  VT_ASSIGN_OR_RETURN(out.engine, Engine::Load(file, spec, engine, control));
  return out;
}

// A check as `vt-golden check` does it: document, digests, ids, cases. Interruption and the like
// are failures of the test and not of the golden.
Result<Complaint> CheckText(const std::string& text, FileDigests& digests, const Watched& watched,
                            const SelfTestOptions& options) {
  const Result<Golden> golden = ParseGolden(text);
  if (!golden.ok()) return golden.status().message();
  if (!options.any_digest) {
    const Status same = CheckDigests(golden->model, CompareDigests(golden->model, digests));
    if (!same.ok()) return same.message();
  }
  CheckWatch watch;
  watch.cancel = options.cancel;
  watch.checkpoints = watched.checkpoints.get();
  const Result<std::vector<CaseReport>> cases =
      CheckCases(*golden, *watched.engine, nullptr, options.limits, watch);
  if (cases.ok()) return ComplaintOf(*cases);
  if (cases.status().code() == Code::kInterrupted) return cases.status();
  return cases.status().message();
}

// All shards of a model in a folder of their own, which goes when it does.
class ModelCopy {
 public:
  static Result<std::unique_ptr<ModelCopy>> Make(const GgufFile& file,
                                                 const std::string& temp_folder) {
    std::error_code error;
    const fs::space_info space = fs::space(temp_folder, error);
    if (!error && space.available < file.total_bytes()) {
      return Status(Code::kDevice, temp_folder + ": has " + std::to_string(space.available) +
                                       " bytes free, a copy of the model needs " +
                                       std::to_string(file.total_bytes()) +
                                       "; set TMPDIR to a folder with room");
    }
    std::string folder = temp_folder + "/vt-golden-XXXXXX";
    if (!mkdtemp(folder.data())) {
      return Status(Code::kDevice, temp_folder + ": no folder can be made in it (" +
                                       std::strerror(errno) + "); set TMPDIR");
    }
    auto copy = std::unique_ptr<ModelCopy>(new ModelCopy(folder));
    for (const GgufShard& shard : file.shards()) {
      if (shard.computed) continue;  // behind all files
      const fs::path to = fs::path(folder) / fs::path(shard.path).filename();
      if (!fs::copy_file(shard.path, to, error)) {
        return Status(Code::kDevice, to.string() + ": cannot be written (" + error.message() + ")");
      }
      fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, error);
      copy->paths_.push_back(to.string());
    }
    return copy;
  }
  ~ModelCopy() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  const std::string& path() const { return paths_.front(); }

  // Turns the bits of the masks over; twice is as it was.
  Status Flip(const ModelDamage& damage) const {
    for (const ModelDamage::Byte& one : damage.bytes) VT_RETURN_IF_ERROR(Flip(one));
    return {};
  }

 private:
  Status Flip(const ModelDamage::Byte& one) const {
    const std::string& path = paths_[one.shard];
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    std::uint8_t byte = 0;
    const auto offset = static_cast<off_t>(one.offset);
    bool good = descriptor >= 0 && pread(descriptor, &byte, 1, offset) == 1;
    byte ^= one.mask;
    good = good && pwrite(descriptor, &byte, 1, offset) == 1;
    if (descriptor >= 0) close(descriptor);
    return good ? Status() : Status(Code::kDevice, path + ": cannot be changed");
  }

  explicit ModelCopy(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
  std::vector<std::string> paths_;
};

Result<Complaint> CheckModelFile(const Golden& golden, const std::string& text,
                                 const std::string& path, const SelfTestOptions& options,
                                 bool any_digest) {
  const Result<GgufFile> file = GgufFile::Open(path);
  if (!file.ok()) return file.status().message();
  const Result<ModelSpec> spec = ReadModelSpec(*file);
  if (!spec.ok()) return spec.status().message();
  const Result<Watched> watched = LoadWatched(golden, *file, *spec, options);
  if (!watched.ok()) {
    if (watched.status().code() == Code::kInterrupted) return watched.status();
    return watched.status().message();
  }
  SelfTestOptions inner = options;
  inner.any_digest = any_digest;
  FileDigests digests(*file);
  return CheckText(text, digests, *watched, inner);
}

// The two shortest cases.
Golden Shortened(const Golden& golden) {
  Golden out = golden;
  std::stable_sort(out.cases.begin(), out.cases.end(), [](const auto& a, const auto& b) {
    return a.prompt.size() + a.generated.size() < b.prompt.size() + b.generated.size();
  });
  if (out.cases.size() > 2) out.cases.resize(2);
  return out;
}

bool HasExperts(const Golden& golden, int layer) {
  const std::vector<GoldenCheckpoint>& points = golden.cases.front().checkpoints;
  return std::any_of(points.begin(), points.end(), [&](const GoldenCheckpoint& point) {
    return point.layer == layer && point.what == CheckpointWhat::kExperts;
  });
}

bool TouchesDigests(const std::string& what) {
  return what.starts_with("digest:") || what.starts_with("content_digest:") ||
         what.starts_with("sha256:");
}

}  // namespace

Result<std::vector<SelfTestRow>> SelfTest(const Golden& golden, const GgufFile& file,
                                          const SelfTestOptions& options,
                                          const std::string& temp_folder) {
  if (golden.cases.empty()) return InvalidError("the golden has no cases");
  const Golden sample = Shortened(golden);
  const std::string text = TextOf(sample);
  VT_ASSIGN_OR_RETURN(const ModelSpec spec, ReadModelSpec(file));
  VT_ASSIGN_OR_RETURN(const Watched watched, LoadWatched(sample, file, spec, options));
  FileDigests digests(file);
  VT_ASSIGN_OR_RETURN(const Complaint before, CheckText(text, digests, watched, options));
  if (!before.empty()) {
    return InvalidError("the golden does not pass as it is (" + before +
                        "), so nothing could be shown; see vt-golden check");
  }
  const std::vector<GoldenDamage> damages = GoldenDamages();
  const std::vector<ModelDamage> model_damages = ModelDamages(file, spec, sample, *watched.use);
  const std::size_t total = damages.size() + model_damages.size();
  std::size_t done = 0;
  const auto progress = [&] {
    if (options.progress) options.progress(++done, total);
  };
  std::vector<SelfTestRow> rows;
  for (const GoldenDamage& damage : damages) {
    progress();
    if (options.any_digest && TouchesDigests(damage.what)) continue;
    // A content digest is compared in place of a SHA-256.
    if (damage.what.starts_with("sha256:") && golden.model.content_digest) continue;
    std::string spoilt;
    if (damage.edit) {
      ordered_json document = ordered_json::parse(text);
      if (!damage.edit(document)) continue;
      spoilt = document.dump();
    } else {
      spoilt = damage.cut(text);
    }
    VT_ASSIGN_OR_RETURN(const Complaint complaint, CheckText(spoilt, digests, watched, options));
    rows.push_back({damage.what, "golden", !complaint.empty(), complaint});
  }
  VT_ASSIGN_OR_RETURN(const std::unique_ptr<ModelCopy> copy, ModelCopy::Make(file, temp_folder));
  const bool whole_digest =
      !options.any_digest && (golden.model.content_digest || golden.model.sha256);
  for (const ModelDamage& damage : model_damages) {
    progress();
    if (damage.needs_digest && !whole_digest) continue;
    if (damage.needs_checkpoint && !HasExperts(sample, *damage.needs_checkpoint)) continue;
    VT_RETURN_IF_ERROR(copy->Flip(damage));
    VT_ASSIGN_OR_RETURN(const Complaint complaint,
                        CheckModelFile(sample, text, copy->path(), options, !damage.needs_digest));
    VT_RETURN_IF_ERROR(copy->Flip(damage));
    rows.push_back({damage.what, "model", !complaint.empty(), complaint});
  }
  return rows;
}

}  // namespace vt
