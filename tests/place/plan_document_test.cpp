// vt.plan/1: what is written reads back the same.
#include "place/plan_document.h"

#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "place/planned_model.h"
#include "support/header_models.h"

namespace vt {
namespace {

using nlohmann::ordered_json;
using test::Described;
using test::Planned;
using test::Spread;
using test::Start;
using test::Whole;

void ExpectSamePlacement(const Placement& a, const Placement& b) {
  EXPECT_EQ(a.devices, b.devices);
  EXPECT_EQ(a.input, b.input);
  EXPECT_EQ(a.output, b.output);
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.tensors, b.tensors);
  EXPECT_EQ(a.held, b.held);
}

// Reads back into the same options, from which the planner makes the same rows.
void ExpectRoundTrip(const Planned& planned) {
  const std::string text = planned.Write();
  Result<PlanDocument> read = ReadPlanDocument(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->text, text);
  EXPECT_EQ(read->model.digest, planned.file.HeaderDigest());
  EXPECT_EQ(read->model.path, planned.model.path);
  EXPECT_EQ(read->model.file_bytes, planned.file.total_bytes());
  EXPECT_FALSE(read->fits.has_value());
  const Status bound = BindPlan(planned.file, planned.spec, *read);
  ASSERT_TRUE(bound.ok()) << bound.message();
  const EnginePlan& plan = planned.answer.plan;
  ExpectSamePlacement(*read->options.placement, plan.placement);
  EXPECT_EQ(read->options.context, plan.options.context);
  EXPECT_EQ(read->options.sequences, plan.options.sequences);
  EXPECT_EQ(read->options.ubatch, plan.options.ubatch);
  EXPECT_EQ(read->options.logit_rows, plan.options.logit_rows);
  EXPECT_EQ(read->options.kv_type, plan.options.kv_type);
  EXPECT_EQ(read->options.threads, plan.options.threads);
  EXPECT_EQ(read->options.exact, plan.options.exact);
  const Result<EnginePlan> again =
      MakePlan(planned.file, planned.spec, read->options, planned.request.devices);
  ASSERT_TRUE(again.ok()) << again.status().message();
  ASSERT_EQ(again->rows.size(), plan.rows.size());
  ASSERT_EQ(read->rows.size(), plan.rows.size());
  std::multiset<std::string> written, made;
  for (const MemoryRow& row : read->rows) {
    written.insert(row.device + " " + row.row + " " + std::to_string(row.predicted_bytes) +
                   row.how);
  }
  for (const MemoryRow& row : again->rows) {
    made.insert(row.device + " " + row.row + " " + std::to_string(row.predicted_bytes) + row.how);
  }
  EXPECT_EQ(written, made);
  // Cells by layer add up to the rows.
  std::map<std::string, std::uint64_t> kv;
  for (const PlannedKv& one : read->kv) kv[one.device + one.row] += one.bytes;
  std::map<std::string, std::uint64_t> rows;
  for (const MemoryRow& row : plan.rows) {
    if (row.row.starts_with("kv.")) rows[row.device + row.row] += row.predicted_bytes;
  }
  EXPECT_EQ(kv, rows);
  // Every tensor of the file once, in its order, with a device or a reason why not.
  ASSERT_EQ(read->tensors.size(), planned.file.tensors().size());
  for (std::size_t i = 0; i < read->tensors.size(); ++i) {
    const PlannedTensor& tensor = read->tensors[i];
    EXPECT_EQ(tensor.name, planned.file.tensors()[i].name);
    EXPECT_EQ(tensor.bytes, planned.file.tensors()[i].bytes);
    EXPECT_EQ(tensor.device.has_value(), plan.placement.tensors[i] >= 0) << tensor.name;
    EXPECT_EQ(tensor.held.has_value(), tensor.device.has_value()) << tensor.name;
    EXPECT_TRUE(tensor.device || !tensor.reason.empty()) << tensor.name;
    EXPECT_EQ(tensor.read_by.empty(),
              tensor.reason == "unused" || tensor.reason.starts_with("read at the load"))
        << tensor.name;
  }
}

TEST(PlanDocument, ReadsBackAsItWasWritten) {
  for (const char* name : {"smollm-135m", "gemma-4-26b", "glm-5.2", "gpt-oss-20b", "lfm2-350m",
                           "qwen3.6-27b", "deepseek-v3", "moe-48x928"}) {
    SCOPED_TRACE(name);
    ExpectRoundTrip(Whole(test::HeaderModel(name)));
  }
  for (const char* name : {"gpt-oss-20b", "qwen3-30b-a3b", "llama-8b"}) {
    SCOPED_TRACE(name);
    ExpectRoundTrip(Spread(test::HeaderModel(name)));
  }
}

TEST(PlanDocument, KeepsWhatIsNotReadAgain) {
  const Planned planned = Spread(test::HeaderModel("gpt-oss-20b"));
  const PlanDocument read = ReadPlanDocument(planned.Write()).value();
  EXPECT_EQ(read.notes, planned.answer.notes);
  EXPECT_EQ(read.wishes.pins, std::vector<std::string>{"blk\\.0\\.attn_output=hip:1"});
  EXPECT_EQ(read.wishes.n_cpu_moe, 2);
  EXPECT_FALSE(read.wishes.cpu_moe);
  EXPECT_EQ(read.wishes.objective, "balanced");
  EXPECT_DOUBLE_EQ(read.prediction.decode_tok_per_s.value(), 12.346);
  EXPECT_FALSE(read.prediction.prefill_tok_per_s.has_value());
  EXPECT_EQ(read.prediction.decode_bottleneck, "cpu: reading weights");
  EXPECT_EQ(read.prediction.missing, "hip:0: no rate of memory is known");
  ASSERT_EQ(read.budgets.size(), 3u);
  EXPECT_EQ(read.budgets[1].bytes, std::uint64_t{20} << 30);
  EXPECT_EQ(read.budgets[1].source, "--budget");
  EXPECT_EQ(read.budgets[1].reserve_bytes, 17u);
  EXPECT_TRUE(read.budgets[1].shares_host);
  EXPECT_FALSE(read.budgets[0].shares_host);
  EXPECT_EQ(read.devices[2].name, "test device hip:1");
  EXPECT_EQ(read.devices[2].kind, DeviceKind::kHip);
  EXPECT_FALSE(read.exact);
  const auto tensor = [&](std::string_view name) {
    for (const PlannedTensor& one : read.tensors) {
      if (one.name == name) return one;
    }
    return PlannedTensor();
  };
  EXPECT_EQ(tensor("blk.0.attn_output.weight").reason, "pin \"attn_output\"=hip:1");
  EXPECT_EQ(tensor("blk.0.attn_output.weight").held, Held::kExpanded);
  EXPECT_EQ(tensor("blk.0.attn_output.weight").read_by,
            std::vector<std::string>{"blk.0.attn_output"});
  EXPECT_EQ(tensor("blk.1.attn_norm.weight").reason,
            "read as f32 values by blk.1.attn_norm on cpu");
  EXPECT_EQ(tensor("blk.0.attn_output.bias").reason,
            "read as f32 values by blk.0.attn_output on hip:1");
  EXPECT_EQ(tensor("output_norm.weight").reason, "read as f32 values by output_norm on hip:0");
}

TEST(PlanDocument, KeepsTheChosenContext) {
  Planned planned = Whole(test::HeaderModel("smollm-135m"));
  EXPECT_FALSE(ReadPlanDocument(planned.Write()).value().chosen_context.has_value());
  planned.answer.chosen_context = {8192, planned.request.options.context, "no room"};
  const std::string text = planned.Write();
  const PlanDocument read = ReadPlanDocument(text).value();
  ASSERT_TRUE(read.chosen_context.has_value());
  EXPECT_EQ(read.chosen_context->from, 8192u);
  EXPECT_EQ(read.chosen_context->to, planned.request.options.context);
  EXPECT_EQ(read.chosen_context->why, "no room");
  // Plans of programs that did not know it are plans all the same.
  ordered_json older = ordered_json::parse(text);
  older.erase("chosen_context");
  older["hash"] = PlanHash(older.dump()).value();
  const Result<PlanDocument> plan = ReadPlanDocument(older.dump());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_FALSE(plan->chosen_context.has_value());
}

// The matrix that serves as embedding and as output stands once, with both of its readers.
TEST(PlanDocument, NamesTiedTensorsOnce) {
  const Planned planned = Whole(test::HeaderModel("smollm-135m"));
  ASSERT_TRUE(planned.spec.tied);
  const PlanDocument read = ReadPlanDocument(planned.Write()).value();
  int embeddings = 0;
  for (const PlannedTensor& tensor : read.tensors) {
    if (tensor.name != "token_embd.weight") continue;
    ++embeddings;
    EXPECT_EQ(tensor.read_by, (std::vector<std::string>{"token_embd", "output"}));
  }
  EXPECT_EQ(embeddings, 1);
}

// Two accelerators without the cpu: the host's staging area has a device all the same.
TEST(PlanDocument, AddsTheHostOfTheStagingArea) {
  Planned planned = Start(test::HeaderModel("llama-8b"), {Described("cuda:0", DeviceKind::kCuda),
                                                          Described("cuda:1", DeviceKind::kCuda)});
  Placement placement;
  placement.devices = {"cuda:0", "cuda:1"};
  placement.layers.resize(planned.spec.layers.size());
  for (std::size_t i = 16; i < placement.layers.size(); ++i) placement.layers[i] = {1, 1, 1};
  PlaceTensors(planned.file, planned.spec, placement);
  EngineOptions options = planned.request.options;
  options.placement = placement;
  planned.answer.plan =
      MakePlan(planned.file, planned.spec, options, planned.request.devices).value();
  PlanDocument read = ReadPlanDocument(planned.Write()).value();
  ASSERT_EQ(read.devices.size(), 3u);
  EXPECT_EQ(read.devices[2].id, "cpu");
  EXPECT_EQ(read.rows.back().row, "staging");
  ASSERT_TRUE(BindPlan(planned.file, planned.spec, read).ok());
  std::vector<DeviceInfo> devices = planned.request.devices;
  devices.push_back(Described("cpu", DeviceKind::kCpu));
  const EnginePlan again = MakePlan(planned.file, planned.spec, read.options, devices).value();
  EXPECT_FALSE(again.devices[2].used);
  ASSERT_EQ(again.rows.size(), planned.answer.plan.rows.size());
  for (std::size_t i = 0; i < again.rows.size(); ++i) {
    EXPECT_EQ(again.rows[i].predicted_bytes, planned.answer.plan.rows[i].predicted_bytes);
  }
}

TEST(PlanDocument, DecodesWhatTheDeviceDoesNotKeep) {
  Planned planned = Start(test::HeaderModel("smollm-135m"), {Described("hip:0", DeviceKind::kHip)});
  planned.request.devices[0].kept_quant_types = std::vector<DType>{DType::kQ6_K};
  planned.answer = PlaceWhole(planned.file, planned.spec, planned.request).value();
  const PlanDocument read = ReadPlanDocument(planned.Write()).value();
  int kept = 0, expanded = 0;
  for (const PlannedTensor& tensor : read.tensors) {
    if (!tensor.device) continue;
    const bool plain = tensor.type == "q6_k" || tensor.type == "f32" || tensor.type == "f16";
    EXPECT_EQ(*tensor.held == Held::kKept, plain) << tensor.name << " " << tensor.type;
    ++(plain ? kept : expanded);
    EXPECT_EQ(tensor.reason.find("decoded") != std::string::npos, !plain) << tensor.reason;
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(expanded, 0);
}

TEST(PlanDocument, SameInputsGiveTheSameBytes) {
  EXPECT_EQ(Spread(test::HeaderModel("gpt-oss-20b")).Write(),
            Spread(test::HeaderModel("gpt-oss-20b")).Write());
  Planned other = Spread(test::HeaderModel("gpt-oss-20b"));
  const std::string before = other.Write();
  other.model.path = "elsewhere.gguf";
  EXPECT_NE(other.Write(), before);
}

TEST(PlanDocument, TheHashIsOfTheCanonicalText) {
  const std::string text = Whole(test::HeaderModel("smollm-135m")).Write();
  const PlanDocument plan = ReadPlanDocument(text).value();
  EXPECT_TRUE(plan.hash.starts_with("xxh3-128:"));
  EXPECT_EQ(plan.hash.size(), 9u + 32u);
  EXPECT_EQ(PlanHash(text).value(), plan.hash);
  // What is written is canonical, and blanks between its parts are no change.
  EXPECT_EQ(ordered_json::parse(text).dump(), text);
  const PlanDocument spaced = ReadPlanDocument(ordered_json::parse(text).dump(2)).value();
  EXPECT_EQ(spaced.hash, plan.hash);
}

TEST(PlanDocument, AVerdictPassesThrough) {
  const std::string text = Whole(test::HeaderModel("smollm-135m")).Write();
  const auto with = [&](const std::string& verdict) {
    return WithFitPart(text, "{\"verdict\": \"" + verdict + "\", \"deficit_bytes\": 0}").value();
  };
  const PlanDocument fits = ReadPlanDocument(with("fits")).value();
  EXPECT_EQ(fits.fits, true);
  EXPECT_EQ(fits.verdict, "fits");
  EXPECT_EQ(fits.hash, ReadPlanDocument(text).value().hash);
  EXPECT_EQ(PlanHash(with("fits")).value(), fits.hash);
  EXPECT_EQ(ReadPlanDocument(with("does_not_fit")).value().fits, false);
  EXPECT_EQ(ReadPlanDocument(with("fits_by_paging")).value().fits, false);
  const PlanDocument unknown = ReadPlanDocument(with("cannot_tell")).value();
  EXPECT_FALSE(unknown.fits.has_value());
  EXPECT_EQ(unknown.verdict, "cannot_tell");
  EXPECT_EQ(ReadPlanDocument(with("perhaps")).status().at(), "/fit/verdict");
  // A second verdict takes the first one's place.
  EXPECT_EQ(ReadPlanDocument(WithFitPart(with("does_not_fit"), "{\"verdict\":\"fits\"}").value())
                .value()
                .fits,
            true);
  EXPECT_FALSE(WithFitPart(text, "[]").ok());
  EXPECT_FALSE(WithFitPart("{", "{}").ok());
}

// Tensors in another order are the same plan.
TEST(BindPlan, FollowsNamesNotOrder) {
  const Planned planned = Spread(test::HeaderModel("gpt-oss-20b"));
  ordered_json json = ordered_json::parse(planned.Write());
  std::swap(json["tensors"][1], json["tensors"][200]);
  json["hash"] = PlanHash(json.dump()).value();
  PlanDocument plan = ReadPlanDocument(json.dump()).value();
  ASSERT_TRUE(BindPlan(planned.file, planned.spec, plan).ok());
  ExpectSamePlacement(*plan.options.placement, planned.answer.plan.placement);
  EXPECT_EQ(plan.tensors[1].name, planned.file.tensors()[1].name);
}

TEST(PlanDocument, TwoThousandTensorsAreQuick) {
  const Planned planned = Whole(test::HeaderModel("glm-5.3"));
  ASSERT_GE(planned.file.tensors().size(), 1800u);
  // Of this process alone, whatever else the machine does.
  const auto timed = [](const auto& work) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const std::clock_t start = std::clock();
      work();
      best = std::min(best, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
  };
  const std::string text = planned.Write();
  const double write_ms = timed([&] { ASSERT_EQ(planned.Write().size(), text.size()); });
  const double read_ms = timed([&] { ASSERT_TRUE(ReadPlanDocument(text).ok()); });
  RecordProperty("write_ms", std::to_string(write_ms));
  RecordProperty("read_ms", std::to_string(read_ms));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(write_ms, 50);
  EXPECT_LT(read_ms, 50);
#endif
}

}  // namespace
}  // namespace vt
