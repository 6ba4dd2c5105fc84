// Verdicts on models of real geometry: what users of such estimates have reported as wrong.
#include "place/fit.h"

#include "base/size_text.h"
#include "place/fit_case.h"
#include "place/fit_document.h"

namespace vt::test {
namespace {

std::vector<DeviceInfo> BigHost() { return {DeviceOfSize("cpu", DeviceKind::kCpu, 4096 * kGiB)}; }

// Layers with a sliding window cost their window, not the context.
TEST(FitFigures, Gemma4KeysAndValues) {
  FitCase gemma("gemma-4-26b", BigHost());
  for (const auto& [context, mib] :
       {std::pair(4096, 380), {8192, 460}, {32768, 940}, {131072, 2860}}) {
    const Fit fit = gemma.At(static_cast<std::uint64_t>(context));
    EXPECT_EQ(RowsOf(On(fit, "cpu"), "kv."), static_cast<std::uint64_t>(mib) * kMiB) << context;
  }
}

TEST(FitFigures, GptOssKeysAndValues) {
  FitCase gpt("gpt-oss-20b", BigHost());
  const Fit fit = gpt.At(131072);
  EXPECT_EQ(RowsOf(On(fit, "cpu"), "kv.full"), 3 * kGiB);
  // Ten pages of 64 cells: the window of 128 however it is cut, and a step of 512.
  EXPECT_EQ(RowsOf(On(fit, "cpu"), "kv.window"), 12u * 640 * 2048);
}

// All layers count at one position; past the window the full ones alone grow.
TEST(FitFigures, WindowedLayersAreNotLeftOut) {
  FitCase gpt("gpt-oss-120b", BigHost());
  const Fit one = gpt.At(1, 1, 1);
  EXPECT_EQ(RowsOf(On(one, "cpu"), "kv."), 64u * 73728);
  const Fit near = gpt.At(8192);
  const Fit far = gpt.At(16384);
  EXPECT_EQ(RowsOf(On(near, "cpu"), "kv.window"), RowsOf(On(far, "cpu"), "kv.window"));
  EXPECT_EQ(RowsOf(On(far, "cpu"), "kv.") - RowsOf(On(near, "cpu"), "kv."), 8192u * 36864);
}

// The window and the step both count, for each sequence its own window.
TEST(FitFigures, WindowsGrowWithStepsAndSequences) {
  FitCase gemma("gemma-4-26b", BigHost());
  const auto cells = [&](std::int64_t sequences, std::int64_t ubatch) {
    const Fit fit = gemma.At(32768, sequences, ubatch);
    return RowsOf(On(fit, "cpu"), "kv.window") / (25 * 2 * 8 * 256 * 2);
  };
  EXPECT_EQ(cells(1, 512), 1536u);
  EXPECT_EQ(cells(1, 2048), 1088u + 2048 - 64);
  EXPECT_EQ(cells(4, 512), 4 * 1088u + 512 - 64);
}

TEST(FitFigures, LatentCachesSayTheirForm) {
  FitCase glm("glm-5", BigHost());
  const Fit at_full = glm.At(202752);
  // 78 layers of 576 values; the layer that predicts ahead has no cells.
  EXPECT_EQ(RowsOf(On(at_full, "cpu"), "kv.latent"), 202752ull * 78 * 576 * 2);
  FitCase indexed("glm-5.2", BigHost());
  EXPECT_EQ(RowsOf(On(indexed.At(131072), "cpu"), "kv.indexer"), 672 * kMiB);

  FitCase latent("deepseek-v3", BigHost());
  FitCase expanded("deepseek-v3-expanded", BigHost());
  const Fit small = latent.At(65536);
  const Fit large = expanded.At(65536);
  EXPECT_EQ(RowsOf(On(small, "cpu"), "kv.latent"), 65536ull * 61 * 576 * 2);
  EXPECT_EQ(RowsOf(On(small, "cpu"), "kv.full"), 0u);
  EXPECT_EQ(RowsOf(On(large, "cpu"), "kv.full"), 65536ull * 61 * 128 * (192 + 128) * 2);
  EXPECT_EQ(RowsOf(On(large, "cpu"), "kv.latent"), 0u);
}

TEST(FitFigures, StatesAreFlatInTheContext) {
  FitCase lfm("lfm2-350m", BigHost());
  const Fit near = lfm.At(1024);
  const Fit far = lfm.At(65536);
  // Keys of 6 attention layers alone, by the array of key heads.
  EXPECT_GT(RowsOf(On(near, "cpu"), "kv.full"), 0u);
  EXPECT_EQ(RowsOf(On(far, "cpu"), "kv.full"), 64 * RowsOf(On(near, "cpu"), "kv.full"));
  EXPECT_GT(RowsOf(On(near, "cpu"), "kv.state"), 0u);
  EXPECT_EQ(RowsOf(On(far, "cpu"), "kv.state"), RowsOf(On(near, "cpu"), "kv.state"));

  FitCase qwen("qwen3.6-27b", BigHost());
  qwen.request.options.kv_type = DType::kQ8_0;
  const Fit hybrid = qwen.At(65536);
  std::uint64_t attention = 0;
  for (const LayerSpec& layer : qwen.spec().layers) {
    if (layer.caches()) attention += static_cast<std::uint64_t>(layer.kv_heads * layer.key_dim);
  }
  EXPECT_EQ(RowsOf(On(hybrid, "cpu"), "kv.full"), 65536 * attention * 2 * 34 / 32);
  EXPECT_LT(On(hybrid, "cpu").need_bytes, 20 * kGiB);
}

// Buffers of a step are rows, of the device that has them, and grow with the step.
TEST(FitFigures, BuffersGrowWithTheStep) {
  FitCase llama("llama-8b", BigHost());
  const auto activations = [&](std::int64_t ubatch) {
    return RowsOf(On(llama.At(8192, 1, ubatch), "cpu"), "activations");
  };
  EXPECT_GE(activations(1024), 2 * activations(512) - kMiB);
  EXPECT_GT(activations(2048), activations(1024));
  // Only the rows that are asked for have logits.
  const Fit fit = llama.At(8192, 1, 2048);
  EXPECT_LT(RowsOf(On(fit, "cpu"), "logits"), kMiB);
}

// Logits are where the output is made: on the host alone, where that makes it.
TEST(FitFigures, LogitsAreOfTheDeviceThatMakesThem) {
  FitCase llama("llama-8b",
                {DeviceOfSize("cpu", DeviceKind::kCpu, 64 * kGiB),
                 DeviceOfSize("cuda:0", DeviceKind::kCuda, 24 * kGiB)},
                "cuda:0");
  const std::uint64_t logits = RowsOf(On(llama.At(4096), "cuda:0"), "logits");
  EXPECT_GE(logits, 128256u * 4);
  EXPECT_EQ(RowsOf(On(llama.At(4096), "cpu"), "logits"), 0u);
  Placement placement;
  placement.devices = {"cuda:0", "cpu"};
  placement.output = 1;
  placement.layers.resize(llama.spec().layers.size());
  PlaceTensors(llama.file(), llama.spec(), placement);
  llama.request.options.placement = placement;
  const Fit fit = llama.At(4096);
  EXPECT_EQ(RowsOf(On(fit, "cpu"), "logits"), logits);
  EXPECT_EQ(RowsOf(On(fit, "cuda:0"), "logits"), 0u);
}

TEST(FitVerdicts, OfExpertsThatAnIntegratedBoardDoesNotKeep) {
  const std::vector<DeviceInfo> strix = ProfileDevices("strix-halo-gfx1151");
  FitCase glm("glm-5.3", strix, "hip:0");
  const Fit whole = glm.At(32768);
  EXPECT_EQ(whole.verdict, FitVerdict::kDoesNotFit);
  // Nothing is placed: the need is not reduced, and what would be decoded is priced.
  const DeviceFit& hip = On(whole, "hip:0");
  EXPECT_EQ(hip.taken_out_tensors, 0u);
  EXPECT_EQ(hip.budget.bytes, 58 * kGiB);
  std::uint64_t decoded = 0;
  for (const FitRow& row : hip.rows) {
    if (row.row != "weights.expanded") continue;
    decoded = row.bytes;
    ASSERT_TRUE(row.disk_bytes.has_value());
    EXPECT_GT(row.bytes, 5 * *row.disk_bytes);
    EXPECT_EQ(*row.disk_bytes, whole.file.expanded_bytes);
  }
  EXPECT_GT(decoded, 1024 * kGiB);
  EXPECT_EQ(whole.file.sum(), glm.file().total_bytes());

  // Every expert on the cpu, which keeps them all.
  glm.request.options.placement = ExpertsOnHost(glm.file(), glm.spec(), strix[1], strix[0], 1000);
  const Fit placed = glm.At(32768);
  // Of the 228 towers in the file, three belong to the layer that predicts ahead, which is not run.
  EXPECT_EQ(On(placed, "hip:0").taken_out_tensors, 225u);
  EXPECT_GT(placed.file.unused_bytes, 0u);
  EXPECT_EQ(RowsOf(On(placed, "hip:0"), "weights.expanded"), 0u);
  EXPECT_EQ(RowsOf(On(placed, "cpu"), "weights.expanded"), 0u);
  EXPECT_EQ(RowsOf(On(placed, "cpu"), "weights.kept"), On(placed, "hip:0").taken_out_bytes);
  EXPECT_EQ(placed.file.kept_bytes, whole.file.kept_bytes + whole.file.expanded_bytes);
  EXPECT_EQ(placed.file.sum(), glm.file().total_bytes());
  // 145 GiB of experts on a board of 64: pages of the file, read again and again.
  EXPECT_EQ(placed.verdict, FitVerdict::kFitsByPaging);
  ASSERT_EQ(placed.pools.size(), 1u);
  EXPECT_EQ(placed.pools[0].devices, (std::vector<std::string>{"hip:0", "cpu"}));
  EXPECT_EQ(placed.deficit_where, "hip:0+cpu");
  EXPECT_GT(placed.paged_bytes, kGiB);
  EXPECT_LT(placed.paged_bytes, placed.reads.experts_read_bytes);

  // Some towers stay, and are priced as decoded.
  glm.request.options.placement = ExpertsOnHost(glm.file(), glm.spec(), strix[1], strix[0], 56);
  const Fit some = glm.At(32768);
  EXPECT_EQ(some.verdict, FitVerdict::kDoesNotFit);
  EXPECT_EQ(On(some, "hip:0").taken_out_tensors, 168u);
  EXPECT_GT(RowsOf(On(some, "hip:0"), "weights.expanded"), 100 * kGiB);
}

// Each device is under its own budget; the sum proves nothing.
TEST(FitVerdicts, EveryDeviceByItself) {
  std::vector<DeviceInfo> devices = {DeviceOfSize("cpu", DeviceKind::kCpu, 64 * kGiB),
                                     DeviceOfSize("cuda:0", DeviceKind::kCuda, 24 * kGiB),
                                     DeviceOfSize("cuda:1", DeviceKind::kCuda, 24 * kGiB)};
  FitCase qwen("qwen3-30b-a3b", devices, "cuda:0");
  Placement placement;
  placement.devices = {"cuda:0", "cuda:1"};
  placement.layers.resize(qwen.spec().layers.size());
  PlaceTensors(qwen.file(), qwen.spec(), placement);
  qwen.request.options.placement = placement;
  const Fit lopsided = qwen.At(131072);
  EXPECT_EQ(lopsided.verdict, FitVerdict::kDoesNotFit);
  EXPECT_EQ(lopsided.deficit_where, "cuda:0");
  EXPECT_GT(*lopsided.deficit_bytes, 0);
  EXPECT_TRUE(lopsided.pools.empty());
}

TEST(FitVerdicts, MemoryThatIsSharedIsCountedOnce) {
  std::vector<DeviceInfo> devices = {DeviceOfSize("cpu", DeviceKind::kCpu, 32 * kGiB),
                                     DeviceOfSize("cuda:0", DeviceKind::kCuda, 32 * kGiB)};
  devices[1].integrated = {true, "test"};
  FitCase qwen("qwen3-30b-a3b", devices, "cuda:0");
  qwen.request.options.placement =
      ExpertsOnHost(qwen.file(), qwen.spec(), devices[1], devices[0], 24);
  const Fit fits = qwen.At(8192);
  ASSERT_EQ(fits.pools.size(), 1u);
  EXPECT_EQ(fits.pools[0].need_bytes, On(fits, "cpu").need_bytes + On(fits, "cuda:0").need_bytes);
  // Each alone would fit.
  qwen.Give("cpu", 12 * kGiB);
  const Fit together = qwen.At(65536);
  EXPECT_GT(On(together, "cpu").left_bytes, 0);
  EXPECT_GT(On(together, "cuda:0").left_bytes, 0);
  EXPECT_FALSE(together.yes());
  EXPECT_EQ(together.deficit_where, "cuda:0+cpu");
}

// Mapped pages of a model that is larger than the memory are read again; all else must be there.
TEST(FitVerdicts, ThreeAnswersForTheHost) {
  FitCase llama("llama-8b", BigHost());
  const Fit whole = llama.At(4096);
  const DeviceFit& cpu = On(whole, "cpu");
  EXPECT_EQ(whole.verdict, FitVerdict::kFits);
  EXPECT_EQ(cpu.left_bytes, static_cast<std::int64_t>(*cpu.budget.bytes - cpu.need_bytes));
  EXPECT_FALSE(whole.paged_bytes.has_value());

  const std::uint64_t held = cpu.need_bytes - cpu.mapped_bytes;
  llama.Give("cpu", cpu.need_bytes);
  EXPECT_EQ(llama.At(4096).verdict, FitVerdict::kFits);
  llama.Give("cpu", cpu.need_bytes - 1);
  EXPECT_EQ(llama.At(4096).verdict, FitVerdict::kFitsByPaging);
  llama.Give("cpu", held + kGiB);
  const Fit paging = llama.At(4096);
  EXPECT_EQ(paging.verdict, FitVerdict::kFitsByPaging);
  EXPECT_EQ(paging.paged_bytes, whole.reads.always_bytes - kGiB);
  EXPECT_EQ(CodeOf(paging.verdict), Code::kNo);
  llama.Give("cpu", held - 1);
  const Fit none = llama.At(4096);
  EXPECT_EQ(none.verdict, FitVerdict::kDoesNotFit);
  EXPECT_EQ(none.deficit_bytes, static_cast<std::int64_t>(cpu.mapped_bytes + 1));
}

TEST(FitVerdicts, ExpertsArePagedAsOftenAsTheyAreUsed) {
  FitCase moe("qwen3-30b-a3b", BigHost());
  const Fit fit = moe.At(4096);
  const MappedReads& reads = fit.reads;
  EXPECT_EQ(reads.mapped_bytes, On(fit, "cpu").mapped_bytes);
  EXPECT_EQ(reads.experts_read_bytes, reads.experts_bytes / 128 * 8);
  EXPECT_EQ(PagedPerToken(reads, 0), reads.always_bytes + reads.experts_read_bytes);
  EXPECT_EQ(PagedPerToken(reads, reads.always_bytes), reads.experts_read_bytes);
  const std::uint64_t half = PagedPerToken(reads, reads.always_bytes + reads.experts_bytes / 2);
  EXPECT_NEAR(static_cast<double>(half), static_cast<double>(reads.experts_read_bytes) / 2, 2.0);
  EXPECT_EQ(PagedPerToken(reads, reads.mapped_bytes), 0u);
}

TEST(FitVerdicts, AResidualMayBeNegative) {
  FitCase llama("llama-70b",
                {DeviceOfSize("cpu", DeviceKind::kCpu, 64 * kGiB),
                 DeviceOfSize("cuda:0", DeviceKind::kCuda, 24 * kGiB)},
                "cuda:0");
  const Fit fit = llama.At(8192);
  const DeviceFit& cuda = On(fit, "cuda:0");
  EXPECT_EQ(*cuda.left_bytes, -*fit.deficit_bytes);
  EXPECT_LT(*cuda.left_bytes, 0);
  EXPECT_EQ(SizeText(*cuda.left_bytes).substr(0, 1), "-");
  EXPECT_LT(SizeText(*cuda.left_bytes).size(), 12u);
  EXPECT_EQ(VerdictText(fit), "does not fit: cuda:0 lacks " + SizeText(*fit.deficit_bytes));
}

// Of what is not known nothing is said: no 0, no verdict.
TEST(FitVerdicts, UnknownMemoryIsNoVerdict) {
  DeviceInfo untold = DeviceOfSize("cuda:0", DeviceKind::kCuda, 0);
  untold.memory_total = {};
  FitCase llama("llama-8b", {DeviceOfSize("cpu", DeviceKind::kCpu, 64 * kGiB), untold}, "cuda:0");
  const Fit fit = llama.At(4096);
  EXPECT_EQ(fit.verdict, FitVerdict::kCannotTell);
  EXPECT_EQ(CodeOf(fit.verdict), Code::kUnsupported);
  ASSERT_EQ(fit.missing.size(), 1u);
  EXPECT_NE(fit.missing[0].find("--budget cuda:0=SIZE"), std::string::npos);
  EXPECT_GT(On(fit, "cuda:0").need_bytes, 4 * kGiB);
  EXPECT_FALSE(On(fit, "cuda:0").left_bytes.has_value());
  EXPECT_EQ(llama.Largest(), std::nullopt);
}

TEST(FitVerdicts, AnUnknownArchitectureIsNoVerdict) {
  const GgufFile file = HeaderModel("unknown-arch");
  const Result<ModelSpec> spec = ReadModelSpec(file);
  ASSERT_EQ(spec.status().code(), Code::kUnsupported);
  const Fit fit = CannotTell({}, spec.status().message());
  EXPECT_EQ(fit.verdict, FitVerdict::kCannotTell);
  EXPECT_TRUE(fit.devices.empty());
  EXPECT_NE(VerdictText(fit).find("cannot tell: "), std::string::npos);
}

// What is free now is told, and decides nothing.
TEST(FitVerdicts, LiveMemoryIsAWarning) {
  DeviceInfo host = DeviceOfSize("cpu", DeviceKind::kCpu, 64 * kGiB);
  host.memory_available = {60 * kGiB, "/proc/meminfo MemAvailable"};
  FitCase llama("llama-8b", {host});
  const Fit before = llama.At(4096);
  EXPECT_TRUE(before.warnings.empty());
  llama.request.devices[0].memory_available.bytes = kGiB;
  llama.SetBudgets();
  const Fit after = llama.At(4096);
  EXPECT_EQ(after.verdict, before.verdict);
  EXPECT_EQ(after.deficit_bytes, before.deficit_bytes);
  ASSERT_EQ(after.warnings.size(), 1u);
  EXPECT_EQ(after.warnings[0].code, "live_memory_short");
  EXPECT_EQ(after.warnings[0].device, "cpu");
  llama.SetBudgets({{}, {}, true});
  EXPECT_FALSE(llama.At(4096).yes());
}

// A ceiling below the host's memory decides, and is named with its source.
TEST(FitVerdicts, TheCeilingOfADeviceDecides) {
  DeviceInfo metal = DeviceOfSize("cuda:0", DeviceKind::kCuda, 128 * kGiB);
  metal.memory_ceiling = {kGiB * 1075 / 10, "sysctl iogpu.wired_limit_mb"};
  metal.integrated = {true, "test"};
  FitCase model("llama-70b", {DeviceOfSize("cpu", DeviceKind::kCpu, 128 * kGiB), metal}, "cuda:0");
  Fit fit = model.At(8192);
  ASSERT_TRUE(fit.yes());
  // Grown to lie between the two.
  const std::uint64_t context = model.Largest().value_or(0) + 1024;
  fit = model.At(context);
  EXPECT_EQ(fit.verdict, FitVerdict::kDoesNotFit);
  EXPECT_LT(On(fit, "cuda:0").need_bytes, 128 * kGiB);
  const Budget& budget = On(fit, "cuda:0").budget;
  bool named = false;
  for (const BudgetFact& fact : budget.facts) {
    named = named || (fact.used && fact.source == "sysctl iogpu.wired_limit_mb");
  }
  EXPECT_TRUE(named);
  // The words that stand beside the refusal say what to raise.
  EXPECT_NE(budget.source.find("ceiling 107.50 GiB (sysctl iogpu.wired_limit_mb)"),
            std::string::npos)
      << budget.source;
}

// The runtime of a device is a row of its own, measured where somebody has.
TEST(FitRows, RuntimeAndMarginAreRows) {
  FitCase llama("llama-8b",
                {DeviceOfSize("cpu", DeviceKind::kCpu, 64 * kGiB),
                 DeviceOfSize("cuda:0", DeviceKind::kCuda, 24 * kGiB)},
                "cuda:0");
  const Fit assumed = llama.At(4096);
  EXPECT_EQ(RowsOf(On(assumed, "cuda:0"), "runtime"), 512 * kMiB);
  EXPECT_EQ(RowsOf(On(assumed, "cuda:0"), "margin"), 64 * kMiB);
  EXPECT_FALSE(On(assumed, "cpu").used);
  EXPECT_GE(RowsOf(On(assumed, "cpu"), "runtime"), 12 * kMiB);

  const auto calibration = ReadCalibration(
      R"({"schema":"vt.calibration/1","devices":[
          {"id":"cuda:0","name":"cuda:0","runtime_bytes":700000000,"header_bytes":0},
          {"id":"cpu","name":"another","runtime_bytes":1,"header_bytes":0}]})",
      "measured.json");
  ASSERT_TRUE(calibration.ok()) << calibration.status().message();
  llama.request.calibration = *calibration;
  const Fit measured = llama.At(4096);
  EXPECT_EQ(RowsOf(On(measured, "cuda:0"), "runtime"), 700000000u);
  // Another processor's figure is not this one's.
  EXPECT_EQ(RowsOf(On(measured, "cpu"), "runtime"), RowsOf(On(assumed, "cpu"), "runtime"));
  for (const FitRow& row : On(measured, "cuda:0").rows) {
    if (row.row == "runtime") {
      EXPECT_EQ(row.how, "measured (measured.json)");
    }
  }
}

TEST(FitRows, CalibrationsAreReadStrictly) {
  const auto at = [](std::string_view text) { return ReadCalibration(text, "f").status().at(); };
  EXPECT_EQ(at(R"({"schema":"vt.calibration/2","devices":[]})"), "/schema");
  EXPECT_EQ(at(R"({"schema":"vt.calibration/1"})"), "/devices");
  EXPECT_EQ(at(R"({"schema":"vt.calibration/1","devices":[{}]})"), "/devices/0/id");
  EXPECT_EQ(at(R"({"schema":"vt.calibration/1","devices":[{"id":"cpu","runtime_bytes":-1}]})"),
            "/devices/0/runtime_bytes");
  EXPECT_EQ(at(R"({"schema":"vt.calibration/1","devices":[
                {"id":"cpu","runtime_bytes":2000000000000000,"header_bytes":0}]})"),
            "/devices/0/runtime_bytes");
}

TEST(FitRows, QuantisedHeadsThatDoNotFillABlockAreRefused) {
  EqualLayers sizes;
  sizes.experts = 0;
  sizes.head_dim = 80;
  FitCase model(EqualLayersHeader("odd", sizes).Open(), BigHost());
  EXPECT_TRUE(model.At(4096).yes());
  model.request.options.kv_type = DType::kQ8_0;
  const Status status = JudgeFit(model.file(), model.spec(), model.request).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  for (const char* part : {"q8_0", "blk.0.attn_k.weight", "80", "32"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace vt::test
