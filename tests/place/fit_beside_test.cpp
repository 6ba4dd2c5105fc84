// Verdicts on a model with a draft model or a projector beside it.
#include "place/fit_beside.h"

#include "base/size_text.h"
#include "place/fit_case.h"
#include "place/fit_document.h"

namespace vt::test {
namespace {

std::vector<DeviceInfo> Desk() {
  return {DeviceOfSize("cpu", DeviceKind::kCpu, 256 * kGiB),
          DeviceOfSize("cuda:0", DeviceKind::kCuda, 80 * kGiB),
          DeviceOfSize("cuda:1", DeviceKind::kCuda, 80 * kGiB)};
}

// llama-70b on cuda:0, with what is put beside it.
class Beside {
 public:
  Beside() : model("llama-70b", Desk(), "cuda:0"), draft_file_(HeaderModel("llama-8b")) {
    Result<ModelSpec> spec = ReadModelSpec(draft_file_);
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    if (spec.ok()) draft_spec_ = std::move(spec).value();
  }
  void AddDraft(std::string device = "") {
    model.request.beside.draft = {&draft_file_, &draft_spec_, std::move(device)};
  }
  // Of Qwen2.5-Omni-3B: 2447.8 MiB.
  void AddProjector(std::string device = "") {
    model.request.beside.projector = {&projector_, std::move(device)};
  }
  std::uint64_t projector_bytes() const {
    std::uint64_t bytes = 0;
    for (const GgufTensor& tensor : projector_.tensors()) bytes += tensor.bytes;
    return bytes;
  }
  // Puts so much of cuda:0 at disposal that the model alone leaves `room`.
  void LeaveRoom(std::uint64_t context, std::uint64_t room) {
    const FitBeside with = std::exchange(model.request.beside, {});
    model.Give("cuda:0", On(model.At(context), "cuda:0").need_bytes + room);
    model.request.beside = with;
  }
  const GgufFile& draft_file() const { return draft_file_; }
  const ModelSpec& draft_spec() const { return draft_spec_; }

  FitCase model;

 private:
  static GgufFile MakeProjector() {
    ModelHeader header("clip", "projector");
    for (int i = 0; i < 32; ++i) {
      header.Add("v.blk." + std::to_string(i) + ".ffn_up.weight", DType::kF16, {1280, 31330});
    }
    return header.Open();
  }
  GgufFile draft_file_;
  ModelSpec draft_spec_;
  GgufFile projector_ = MakeProjector();
};

const FitRow* FindRow(const DeviceFit& device, std::string_view name) {
  const FitRow* found = nullptr;
  for (const FitRow& row : device.rows) {
    if (row.row != name) continue;
    EXPECT_EQ(found, nullptr) << name << " is there twice";
    found = &row;
  }
  return found;
}

// Once, with every row of the draft's plan, and the model's own rows as a run with guesses has
// them.
TEST(FitBeside, TheDraftIsOneRowOfItsOwnPlan) {
  Beside beside;
  const Fit alone = beside.model.At(16384, 2);
  beside.AddDraft();
  const Fit fit = beside.model.At(16384, 2);
  EngineOptions options = beside.model.request.options;
  options.tentative = 4;
  options.device = "cuda:0";
  const auto plan = MakePlan(beside.draft_file(), beside.draft_spec(), options, {Desk()[1]});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  std::uint64_t bytes = 0;
  for (const MemoryRow& row : plan->rows) bytes += row.predicted_bytes;
  const DeviceFit& cuda = On(fit, "cuda:0");
  const FitRow* row = FindRow(cuda, "draft");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->bytes, bytes);
  EXPECT_GT(bytes, 4 * kGiB);
  for (const char* part : {"an engine of its own: ", "weights.kept ", "kv.full ", "activations "}) {
    EXPECT_NE(row->how.find(part), std::string::npos) << row->how;
  }
  EXPECT_EQ(fit.draft_device, "cuda:0");
  EXPECT_EQ(fit.options.logit_rows, 2 * 5);
  EXPECT_EQ(RowsOf(cuda, "weights."), RowsOf(On(alone, "cuda:0"), "weights."));
  EXPECT_GE(RowsOf(cuda, "logits"), 5 * (RowsOf(On(alone, "cuda:0"), "logits") - 256));
  EXPECT_EQ(RowsOf(cuda, "runtime"), RowsOf(On(alone, "cuda:0"), "runtime"));
  std::uint64_t sum = 0;
  for (const FitRow& one : cuda.rows) sum += one.bytes;
  EXPECT_EQ(cuda.need_bytes, sum);
  // The program reads another header.
  EXPECT_GT(RowsOf(On(fit, "cpu"), "runtime"), RowsOf(On(alone, "cpu"), "runtime"));
  EXPECT_EQ(FindRow(On(fit, "cpu"), "draft"), nullptr);
}

// It grows with what the model's own cache grows with.
TEST(FitBeside, TheDraftHasTheModelsContextSequencesAndKeys) {
  Beside beside;
  beside.AddDraft();
  const auto draft = [&](std::uint64_t context, std::int64_t sequences) {
    const Fit fit = beside.model.At(context, sequences);
    const FitRow* row = FindRow(On(fit, "cuda:0"), "draft");
    return row ? row->bytes : 0;
  };
  const std::uint64_t cell = 2 * 32 * 8 * 128 * 2;  // of llama-8b, f16
  EXPECT_GE(draft(8192, 1) - draft(4096, 1), 4096 * cell);
  EXPECT_GE(draft(4096, 3) - draft(4096, 1), 2 * 4096 * cell);
  const std::uint64_t f16 = draft(8192, 1);
  beside.model.request.options.kv_type = DType::kQ8_0;
  EXPECT_EQ(f16 - draft(8192, 1), 8192 * cell - 8192 * cell / 2 / 32 * 34);
}

TEST(FitBeside, TheProjectorIsOneRowOfItsTensors) {
  Beside beside;
  const Fit alone = beside.model.At(8192);
  beside.AddProjector();
  const Fit fit = beside.model.At(8192);
  const FitRow* row = FindRow(On(fit, "cuda:0"), "mmproj");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(SizeText(row->bytes), "2.39 GiB");  // 2447.7 MiB
  EXPECT_EQ(row->how, "kept, the file's tensors");
  EXPECT_EQ(row->disk_bytes, row->bytes);
  EXPECT_EQ(On(fit, "cuda:0").need_bytes - On(alone, "cuda:0").need_bytes, row->bytes);
  EXPECT_EQ(On(fit, "cpu").need_bytes, On(alone, "cpu").need_bytes);
  ASSERT_EQ(fit.warnings.size(), 1u);
  EXPECT_EQ(fit.warnings[0].code, "projector_not_run");
  EXPECT_NE(fit.warnings[0].message.find("vt does not run projectors"), std::string::npos);
}

// The first picture must not be what kills the server: the projector is in the verdict, and where
// it alone is too much, so is the way out.
TEST(FitBeside, AProjectorThatBreaksTheBudgetIsProposedForTheCpu) {
  Beside beside;
  beside.LeaveRoom(8192, 100 * kMiB);
  EXPECT_TRUE(beside.model.At(8192).yes());
  beside.AddProjector();
  const Fit fit = beside.model.At(8192);
  EXPECT_EQ(fit.verdict, FitVerdict::kDoesNotFit);
  EXPECT_EQ(fit.deficit_bytes,
            static_cast<std::int64_t>(beside.projector_bytes()) - std::int64_t{100 << 20});
  ASSERT_FALSE(fit.remedies.empty());
  const Remedy& remedy = fit.remedies.front();
  EXPECT_EQ(remedy.kind, "mmproj_on_cpu");
  EXPECT_EQ(remedy.mmproj_device, "cpu");
  EXPECT_EQ(remedy.verdict, FitVerdict::kFits);
  EXPECT_EQ(remedy.saved_bytes, static_cast<std::int64_t>(beside.projector_bytes()));
  EXPECT_EQ(RemedyText(remedy, fit), "projector on cpu (--mmproj-device cpu): fits, cuda:0 needs " +
                                         SizeText(remedy.need_bytes) + ", 2.39 GiB less");
  // As it says.
  beside.AddProjector("cpu");
  const Fit moved = beside.model.At(8192);
  EXPECT_TRUE(moved.yes());
  EXPECT_EQ(On(moved, "cuda:0").need_bytes, remedy.need_bytes);
  EXPECT_NE(FindRow(On(moved, "cpu"), "mmproj"), nullptr);
  // It is no help where the cpu has no room for it.
  beside.AddProjector();
  beside.model.Give("cpu", kGiB);
  EXPECT_EQ(FindRemedy(beside.model.At(8192), "mmproj_on_cpu"), nullptr);
}

TEST(FitBeside, ADraftThatBreaksTheBudgetIsProposedForTheCpu) {
  Beside beside;
  beside.LeaveRoom(8192, 100 * kMiB);
  beside.AddDraft();
  const Fit fit = beside.model.At(8192);
  EXPECT_EQ(fit.verdict, FitVerdict::kDoesNotFit);
  const Remedy* remedy = FindRemedy(fit, "draft_on_cpu");
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->verdict, FitVerdict::kFits);
  EXPECT_EQ(RemedyText(*remedy, fit).substr(0, 43), "draft on cpu (--draft-device cpu): fits, cu");
  const FitRow* row = FindRow(On(fit, "cuda:0"), "draft");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(remedy->saved_bytes, static_cast<std::int64_t>(row->bytes));
  // Neither alone is enough of a change.
  beside.AddProjector();
  const Fit both = beside.model.At(8192);
  EXPECT_EQ(FindRemedy(both, "mmproj_on_cpu"), nullptr);
  EXPECT_EQ(FindRemedy(both, "draft_on_cpu"), nullptr);
  const Remedy* several = FindRemedy(both, "several");
  ASSERT_NE(several, nullptr);
  EXPECT_EQ(RemedyText(*several, both).substr(0, 67),
            "draft and projector on cpu (--draft-device cpu --mmproj-device cpu)");
}

// Pages of the draft's file can be dropped, like those of the model's.
TEST(FitBeside, ADraftOnTheCpuIsMapped) {
  Beside beside;
  beside.AddDraft("cpu");
  const Fit fit = beside.model.At(4096);
  const DeviceFit& cpu = On(fit, "cpu");
  EXPECT_GT(cpu.mapped_bytes, 4 * kGiB);
  EXPECT_EQ(cpu.mapped_bytes, fit.reads.mapped_bytes);
  EXPECT_FALSE(cpu.used);
  EXPECT_TRUE(cpu.beside);
  beside.model.Give("cpu", cpu.need_bytes - 2 * kGiB);
  const Fit paging = beside.model.At(4096);
  EXPECT_EQ(paging.verdict, FitVerdict::kFitsByPaging);
  EXPECT_EQ(paging.deficit_where, "cpu");
  EXPECT_GT(paging.paged_bytes, kGiB);
  beside.model.Give("cpu", cpu.need_bytes - cpu.mapped_bytes - 1);
  EXPECT_EQ(beside.model.At(4096).verdict, FitVerdict::kDoesNotFit);
}

// A device that has the draft alone is held to its budget too, with a runtime of its own.
TEST(FitBeside, OnADeviceOfItsOwn) {
  Beside beside;
  beside.AddDraft("cuda:1");
  const Fit fit = beside.model.At(4096);
  const DeviceFit& second = On(fit, "cuda:1");
  EXPECT_EQ(RowsOf(second, "runtime"), 512 * kMiB);
  EXPECT_EQ(FindRow(On(fit, "cuda:0"), "draft"), nullptr);
  EXPECT_EQ(second.largest.row, "draft.weights.kept");
  EXPECT_EQ(fit.devices.front().id, "cuda:0");
  beside.model.Give("cuda:1", kGiB);
  const Fit refused = beside.model.At(4096);
  EXPECT_EQ(refused.verdict, FitVerdict::kDoesNotFit);
  EXPECT_EQ(refused.deficit_where, "cuda:1");
  for (Budget& budget : beside.model.request.budgets) {
    if (budget.device == "cuda:1") budget.bytes.reset();
  }
  EXPECT_EQ(beside.model.At(4096).verdict, FitVerdict::kCannotTell);

  beside.AddDraft("cuda:7");
  const Status status =
      JudgeFit(beside.model.file(), beside.model.spec(), beside.model.request).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_TRUE(status.message().starts_with("draft model: device \"cuda:7\"")) << status.message();
  beside.model.request.beside = {};
  beside.AddProjector("cuda:7");
  EXPECT_EQ(JudgeFit(beside.model.file(), beside.model.spec(), beside.model.request)
                .status()
                .message()
                .substr(0, 28),
            "projector: device \"cuda:7\": ");
}

// The largest context has the draft's cells in it.
TEST(FitBeside, TheLargestContextCountsTheDraft) {
  Beside beside;
  beside.LeaveRoom(16384, 6 * kGiB);
  const auto alone = beside.model.Largest();
  beside.AddDraft();
  const auto with = beside.model.Largest();
  ASSERT_TRUE(alone && with);
  EXPECT_LT(*with, *alone);
  EXPECT_TRUE(beside.model.At(*with).yes());
  EXPECT_FALSE(beside.model.At(*with + kPageCells).yes());
}

TEST(FitBeside, DraftsThatNoRunWouldTake) {
  Beside beside;
  EXPECT_TRUE(
      CheckDraft(beside.draft_file(), beside.draft_spec(), beside.model.file(), beside.model.spec())
          .ok());
  const FitCase gemma("gemma-4-26b", Desk(), "cuda:0");
  Status status = CheckDraft(beside.draft_file(), beside.draft_spec(), gemma.file(), gemma.spec());
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_NE(status.message().find("must have the model's own vocabulary"), std::string::npos);
  const FitCase lfm("lfm2-350m", Desk(), "cuda:0");
  for (const Status& recurs :
       {CheckDraft(lfm.file(), lfm.spec(), lfm.file(), lfm.spec()),
        CheckDraft(beside.draft_file(), beside.draft_spec(), lfm.file(), lfm.spec()),
        CheckDraft(lfm.file(), lfm.spec(), beside.model.file(), beside.model.spec())}) {
    EXPECT_EQ(recurs.code(), Code::kUnsupported) << recurs.message();
  }
  status = CheckProjector(beside.draft_file());
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_NE(status.message().find("architecture \"llama\" is no projector's"), std::string::npos);
}

}  // namespace
}  // namespace vt::test
