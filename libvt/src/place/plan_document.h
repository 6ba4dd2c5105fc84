// vt.plan/1 (docs/json/vt.plan.md): one document that says where everything of a run lies.
//
// Canonical: the same inputs give the same bytes. Its hash is XXH3-128 over the canonical text
// without the members "hash" and "fit", so that a plan edited by hand is refused and a verdict may
// be added.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "place/budget.h"
#include "place/place.h"
#include "vt/engine.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::string_view kPlanSchema = "vt.plan/1";

struct PlannedModel {
  std::string path;    // as it was given
  std::string digest;  // GgufFile::HeaderDigest
  std::string architecture;
  std::string name;
  std::uint64_t file_bytes = 0;
};

// The program that makes a document.
struct PlanTool {
  std::string version;
  std::string commit;
};

// A tensor of the file.
struct PlannedTensor {
  std::string name;
  std::string type;
  std::uint64_t bytes = 0;            // in the file
  std::optional<std::string> device;  // of a matrix: that multiplies with it
  std::optional<Held> held;           // of a matrix
  std::vector<std::string> read_by;   // places: "blk.3.ffn_gate", "output"
  std::string reason;
};

// Cells or state that a layer keeps.
struct PlannedKv {
  int layer = 0;
  std::string device;
  std::string row;  // "kv.full", ..
  std::uint64_t bytes = 0;
};

// What was asked for beyond the options.
struct PlanWishes {
  std::vector<std::string> pins;  // Pin::text
  bool cpu_moe = false;
  std::int64_t n_cpu_moe = 0;
  std::int64_t expert_slots = 0;
  std::string objective;
};

// What the document holds. What is not read from it again (reasons, rows, predictions) is kept as
// it was written.
struct PlanDocument {
  PlannedModel model;
  EngineOptions options;  // with its placement, whose tensors are in this document's order
  std::vector<DeviceInfo> devices;  // of the placement: id, kind, name alone
  std::vector<Budget> budgets;      // of each
  std::vector<MemoryRow> rows;
  std::vector<PlannedTensor> tensors;
  std::vector<PlannedKv> kv;
  PlanWishes wishes;
  Prediction prediction;
  std::vector<std::string> notes;
  bool exact = false;                           // PlaceAnswer's
  std::optional<ContextChoice> chosen_context;  // PlaceAnswer's
  std::string hash;                             // "xxh3-128:<32 hex>"
  // Of a vt.fit/1 part, where vt-fit has passed the plan on: its verdict, as text and as a yes or
  // no; none where it could not tell.
  std::optional<std::string> verdict;
  std::optional<bool> fits;
  std::string text;  // the document itself, as read
};

// One line without its newline. A device that rows name but the placement does not (the host, of
// which several other devices need a staging area) is added to the devices, with nothing on it.
std::string WritePlanDocument(const GgufFile& file, const ModelSpec& spec,
                              const PlannedModel& model, const PlaceRequest& request,
                              const PlaceAnswer& answer, const PlanTool& tool);

// kInvalid, at() a JSON pointer: not a plan, a newer schema, a wrong hash (both hashes), a tensor,
// layer or device that the rest contradicts. Keys that are not known are not looked at.
Result<PlanDocument> ReadPlanDocument(std::string_view json);

// Binds a document to the model it is for: options.placement.tensors by the file's tensors.
// `digest`: of the model where `file` was rebuilt from a vt.model/1 document; empty: the file's.
// kInvalid: another model (both digests), tensors that are not there.
Status BindPlan(const GgufFile& file, const ModelSpec& spec, PlanDocument& plan,
                std::string_view digest = {});

// The canonical text of a plan with `fit`, JSON text of an object, as its member "fit"; in place of
// the one it has. kInvalid: either is not JSON.
Result<std::string> WithFitPart(std::string_view plan, std::string_view fit);

// Of the canonical text of a document, its members "hash" and "fit" left out: what its "hash" must
// say. kInvalid: no JSON object.
Result<std::string> PlanHash(std::string_view json);

// Everything on the only device of the request, without a search or a prediction: tensors that it
// does not keep are decoded. MakePlan's errors.
Result<PlaceAnswer> PlaceWhole(const GgufFile& file, const ModelSpec& spec,
                               const PlaceRequest& request);

}  // namespace vt
