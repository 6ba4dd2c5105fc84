// The profiles of the project, and what a profile must not hold.
#include "device/profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "support/test_files.h"

namespace vt {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

Profile Parsed(const std::string& name) {
  const Result<Profile> profile =
      ParseProfile(test::ReadFile(test::DataPath("../../profiles/" + name + ".json")));
  EXPECT_TRUE(profile.ok()) << name << ": " << profile.status().message();
  return profile.ok() ? *profile : Profile{};
}

const DeviceInfo& Device(const Profile& profile, const std::string& id) {
  for (const DeviceInfo& device : profile.devices) {
    if (device.id == id) return device;
  }
  ADD_FAILURE() << profile.name << " has no " << id;
  static const DeviceInfo none;
  return none;
}

TEST(ProfileFiles, AllParseAndAreNamedAsTheirFiles) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(test::DataPath("../../profiles"))) {
    EXPECT_EQ(entry.path().extension(), ".json");
    const std::string name = entry.path().stem().string();
    names.insert(name);
    const Profile profile = Parsed(name);
    ASSERT_FALSE(profile.devices.empty()) << name;
    EXPECT_EQ(profile.name, name);
    for (const DeviceInfo& device : profile.devices) {
      EXPECT_TRUE(device.described) << name << " " << device.id;
      EXPECT_TRUE(device.memory_total.bytes.has_value()) << name << " " << device.id;
      EXPECT_EQ(device.sim.has_value(), device.kind == DeviceKind::kSim) << name;
    }
    if (profile.devices.front().kind != DeviceKind::kSim) {
      EXPECT_EQ(profile.devices.front().id, "cpu") << name;
    }
  }
  for (const char* name : {"x86-avx2-desktop", "xeon-amx", "strix-halo-gfx1151", "r9700-x2", "gb10",
                           "rtx-3090", "rtx-4090", "rtx-5090", "h100-sxm", "h200", "mi300x",
                           "apple-m4-max", "jetson-agx-orin", "intel-arc-b580", "sim-small"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(ProfileFiles, StrixHaloIsAsReported) {
  const Profile profile = Parsed("strix-halo-gfx1151");
  ASSERT_EQ(profile.devices.size(), 2u);
  const DeviceInfo& gpu = Device(profile, "hip:0");
  EXPECT_EQ(gpu.kind, DeviceKind::kHip);
  EXPECT_EQ(gpu.arch, "gfx1151");
  EXPECT_EQ(gpu.memory_total.bytes, 64 * kGib);
  EXPECT_EQ(gpu.memory_ceiling.bytes, 58 * kGib);
  EXPECT_EQ(gpu.pageable_memory_access.yes, false);
  EXPECT_EQ(gpu.host_memory_addressable.yes, false);
  EXPECT_EQ(gpu.managed_allocations.yes, true);
  EXPECT_EQ(gpu.integrated.yes, true);
  EXPECT_TRUE(gpu.memory_ceiling.source.starts_with("field report: "));
  EXPECT_EQ(gpu.memory_gb_per_s.value, 256.0);
  ASSERT_TRUE(gpu.kept_quant_types.has_value());
  EXPECT_EQ(*gpu.kept_quant_types,
            (std::vector<DType>{DType::kQ8_0, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K}));
  EXPECT_TRUE(gpu.lacks_ops.empty());
  EXPECT_FALSE(gpu.sim.has_value());
}

TEST(ProfileFiles, TwoR9700AreTwoAlikeDevices) {
  const Profile profile = Parsed("r9700-x2");
  ASSERT_EQ(profile.devices.size(), 3u);
  for (const char* id : {"hip:0", "hip:1"}) {
    const DeviceInfo& gpu = Device(profile, id);
    EXPECT_EQ(gpu.arch, "gfx1201");
    EXPECT_EQ(gpu.memory_total.bytes, 32 * kGib);
    EXPECT_EQ(gpu.kept_quant_types, Device(Parsed("strix-halo-gfx1151"), "hip:0").kept_quant_types);
    EXPECT_EQ(gpu.integrated.yes, false);
  }
}

TEST(ProfileFiles, ProcessorsHaveTheirFeaturesAndNoOthers) {
  const DeviceInfo xeon = Device(Parsed("xeon-amx"), "cpu");
  EXPECT_EQ(xeon.features, kFeatureAvx2 | kFeatureAvx512 | kFeatureAvx512Vnni | kFeatureAmxInt8);
  EXPECT_EQ(xeon.cores, 112);
  EXPECT_EQ(xeon.topology.packages, 2);
  ASSERT_EQ(xeon.topology.numa.size(), 2u);
  EXPECT_EQ(*xeon.topology.numa[0].memory_bytes + *xeon.topology.numa[1].memory_bytes,
            *xeon.memory_total.bytes);
  const DeviceInfo desktop = Device(Parsed("x86-avx2-desktop"), "cpu");
  EXPECT_EQ(desktop.features, std::uint32_t{kFeatureAvx2});
  ASSERT_EQ(desktop.feature_facts.size(), xeon.feature_facts.size());
  for (const FeatureFact& fact : desktop.feature_facts) {
    EXPECT_EQ(fact.state == FeatureFact::State::kUsable, fact.name == "avx2") << fact.name;
    EXPECT_EQ(fact.reason.empty(), fact.name == "avx2") << fact.name;
  }
  EXPECT_EQ(Device(Parsed("apple-m4-max"), "cpu").features, 0u);
}

TEST(ProfileFiles, AcceleratorsWithoutABackendAreListedApart) {
  const Profile apple = Parsed("apple-m4-max");
  EXPECT_EQ(apple.devices.size(), 1u);
  ASSERT_EQ(apple.undriven.size(), 1u);
  EXPECT_EQ(apple.undriven[0].reason, "vt has no backend for Metal");
  EXPECT_EQ(apple.undriven[0].memory_gb_per_s.value, 546.0);
  EXPECT_FALSE(apple.undriven[0].compute_tflops.at("f32").value.has_value());
  const Profile arc = Parsed("intel-arc-b580");
  ASSERT_EQ(arc.undriven.size(), 1u);
  EXPECT_EQ(arc.undriven[0].memory_total.bytes, 12 * kGib);
  EXPECT_EQ(arc.undriven[0].compute_tflops.at("int8").value, 233.0);
}

// A figure without its source, and a source that says nothing, would be as good as invented.
TEST(ProfileFiles, EveryFigureSaysWhereItComesFrom) {
  int figures = 0;
  const auto check = [&](const std::string& where, bool known, const std::string& source) {
    if (!known) return;
    ++figures;
    const bool told = source.find("https://") != std::string::npos ||
                      source.starts_with("field report: ") || source.starts_with("derived: ") ||
                      source.starts_with("configuration: ");
    EXPECT_TRUE(told) << where << ": " << source;
  };
  for (const auto& entry : fs::directory_iterator(test::DataPath("../../profiles"))) {
    const Profile profile = Parsed(entry.path().stem().string());
    for (const DeviceInfo& device : profile.devices) {
      const std::string where = profile.name + " " + device.id;
      for (const MemoryFact* fact : {&device.memory_total, &device.memory_available,
                                     &device.memory_reserve, &device.memory_ceiling}) {
        check(where, fact->bytes.has_value(), fact->source);
      }
      for (const Figure* figure : {&device.memory_gb_per_s, &device.link_gb_per_s}) {
        check(where, figure->value.has_value(), figure->source);
      }
      for (const auto& [type, figure] : device.compute_tflops) {
        check(where + " " + type, figure.value.has_value(), figure.source);
      }
      for (const Answer* answer : {&device.integrated, &device.host_memory_addressable,
                                   &device.managed_allocations, &device.pageable_memory_access}) {
        check(where, answer->yes.has_value(), answer->source);
      }
    }
    for (const UndrivenDevice& device : profile.undriven) {
      check(device.name, device.memory_total.bytes.has_value(), device.memory_total.source);
      for (const Figure* figure : {&device.memory_gb_per_s, &device.link_gb_per_s}) {
        check(device.name, figure->value.has_value(), figure->source);
      }
      for (const auto& [type, figure] : device.compute_tflops) {
        check(device.name + " " + type, figure.value.has_value(), figure.source);
      }
    }
  }
  EXPECT_GT(figures, 100);
}

constexpr const char* kSmall = R"({
  "schema": "vt.profile/1", "name": "small", "description": "two devices",
  "devices": [
    {"id": "cpu", "kind": "cpu", "name": "a processor", "features": ["avx2"], "cores": 4,
     "topology": {"packages": 1, "cores": 4, "threads": 8,
                  "numa": [{"id": 0, "memory_bytes": 1000}],
                  "caches": [{"level": 3, "bytes": 100, "count": 1}]},
     "memory": {"total_bytes": {"value": 1000, "source": "s"}}},
    {"id": "cuda:0", "kind": "cuda", "name": "a card",
     "memory": {"total_bytes": {"value": 1000, "source": "total"},
                "available_bytes": {"value": 900, "source": "available"},
                "reserve_bytes": {"value": 0, "source": "reserve"},
                "ceiling_bytes": {"value": 800, "source": "ceiling"}},
     "integrated": {"value": true, "source": "s"},
     "memory_gb_per_s": {"value": 10.5, "source": "s"}, "link_gb_per_s": {"value": null},
     "compute_tflops": {"bf16": {"value": 2, "source": "s"}},
     "kept_quant_types": ["q8_0"], "lacks_ops": ["softmax"],
     "sim": {"fail_at_byte": 7, "probe_answers": false, "free_wrong_bytes": 5,
             "fail_at_wait": 3}}],
  "undriven": [{"name": "x", "reason": "y"}]})";

TEST(ParseProfileTest, TakesEveryKey) {
  const Result<Profile> profile = ParseProfile(kSmall);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  const DeviceInfo& cpu = profile->devices[0];
  EXPECT_EQ(cpu.cores, 4);
  EXPECT_EQ(cpu.topology.threads, 8);
  EXPECT_EQ(cpu.topology.caches[0].bytes, 100u);
  EXPECT_FALSE(cpu.kept_quant_types.has_value());
  const DeviceInfo& gpu = profile->devices[1];
  EXPECT_EQ(gpu.memory_available.bytes, 900u);
  EXPECT_EQ(gpu.memory_available.source, "available");
  EXPECT_EQ(gpu.memory_reserve.bytes, 0u);
  EXPECT_EQ(gpu.memory_ceiling.bytes, 800u);
  EXPECT_EQ(gpu.memory_gb_per_s.value, 10.5);
  EXPECT_FALSE(gpu.link_gb_per_s.value.has_value());
  EXPECT_EQ(gpu.compute_tflops.at("bf16").value, 2.0);
  EXPECT_EQ(gpu.kept_quant_types->size(), 1u);
  EXPECT_TRUE(gpu.lacks_ops.contains("softmax"));
  EXPECT_FALSE(gpu.pageable_memory_access.yes.has_value());
  ASSERT_TRUE(gpu.sim.has_value());
  EXPECT_EQ(gpu.sim->fail_at_byte, 7u);
  EXPECT_FALSE(gpu.sim->probe_answers);
  EXPECT_TRUE(gpu.sim->free_known);
  EXPECT_EQ(gpu.sim->free_wrong_bytes, 5u);
  EXPECT_EQ(gpu.sim->fail_at_wait, 3u);
}

TEST(ParseProfileTest, TakesTheExampleOfItsPage) {
  const std::string page = test::ReadFile(test::DataPath("../../docs/json/vt.profile.md"));
  const std::string fence = "```json\n";
  const std::size_t begin = page.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = page.find("```", begin + fence.size());
  const Result<Profile> profile =
      ParseProfile(page.substr(begin + fence.size(), end - begin - fence.size()));
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_EQ(profile->devices.size(), 2u);
}

// One change to the small profile (`at` is set to `value`) and the error that it must give.
struct Broken {
  std::string at;
  ordered_json value;
  std::string error_at;
  std::string says;
};

TEST(ParseProfileTest, SaysWhatIsWrongAndWhere) {
  const ordered_json fact = {{"value", 1}, {"source", "s"}};
  const Broken kCases[] = {
      {"/schema", "vt.profile/2", "/schema", "\"vt.profile/2\" must be \"vt.profile/1\""},
      {"/schema", 1, "/schema", "must be a text"},
      {"/extra", 1, "/extra", "unknown key (allowed here: schema, name, "},
      {"/a~1b", 1, "/a~1b", "unknown key"},
      {"/name", "", "/name", "must be a text that is not empty"},
      {"/description", 3, "/description", "must be a text"},
      {"/devices", ordered_json::object(), "/devices", "must be an array (found object)"},
      {"/devices", ordered_json::array(), "/devices", "at least one device"},
      {"/devices/0", 5, "/devices/0", "must be an object (found number)"},
      {"/devices/1/colour", "red", "/devices/1/colour", "unknown key"},
      {"/devices/1/kind", "metal", "/devices/1/kind",
       "\"metal\" is no kind of device (allowed: cpu, cuda, hip, sim)"},
      {"/devices/1/id", "cuda0", "/devices/1/id", "must be \"cuda:\" and a number"},
      {"/devices/1/id", "cuda:", "/devices/1/id", "must be \"cuda:\" and a number"},
      {"/devices/1/id", "cuda:01", "/devices/1/id", "must be \"cuda:\" and a number"},
      {"/devices/1/id", "hip:0", "/devices/1/id", "must be \"cuda:\" and a number"},
      {"/devices/0/id", "cpu:0", "/devices/0/id", "must be \"cpu\""},
      {"/devices/2", ordered_json::parse(kSmall)["devices"][1], "/devices/2/id",
       "\"cuda:0\" is the id of two devices"},
      {"/devices/0/features/1", "avx1024", "/devices/0/features/1",
       "\"avx1024\" is no feature of a cpu (allowed: avx2, avx512, avx512vnni, amx_int8)"},
      {"/devices/0/features/1", "avx2", "/devices/0/features/1", "given twice"},
      {"/devices/0/features/1", "avx512vnni", "/devices/0/features",
       "\"avx512vnni\" needs \"avx512\""},
      {"/devices/0/features", "avx2", "/devices/0/features", "must be an array (found string)"},
      {"/devices/1/features", ordered_json::array(), "/devices/1/features", "of kind cpu or sim"},
      {"/devices/1/cores", 4, "/devices/1/cores", "of kind cpu or sim"},
      {"/devices/0/cores", 0, "/devices/0/cores", "whole number of at least 1 (found 0)"},
      {"/devices/0/cores", 9, "/devices/0/cores", "more cores to use than the machine has threads"},
      {"/devices/0/cores", 1 << 21, "/devices/0/cores", "more than any machine has"},
      {"/devices/0/topology/packages", 5, "/devices/0/topology/packages", "more packages than"},
      {"/devices/0/topology/threads", 3, "/devices/0/topology/cores", "more cores than threads"},
      {"/devices/0/topology/numa/1",
       {{"id", 0}, {"memory_bytes", 1}},
       "/devices/0/topology/numa/1/id",
       "0 is given twice"},
      {"/devices/0/topology/caches/0/count", 0, "/devices/0/topology/caches/0/count", "at least 1"},
      {"/devices/0/memory", ordered_json::object(), "/devices/0/memory", "lacks \"total_bytes\""},
      {"/devices/1/memory/free_bytes", fact, "/devices/1/memory/free_bytes", "unknown key"},
      {"/devices/1/memory/total_bytes/value", -1, "/devices/1/memory/total_bytes/value",
       "whole number of at least 0 (found -1)"},
      {"/devices/1/memory/total_bytes/value", 1.5, "/devices/1/memory/total_bytes/value",
       "whole number"},
      {"/devices/1/memory/total_bytes/value", "1000", "/devices/1/memory/total_bytes/value",
       "whole number of at least 0 (found \"1000\")"},
      {"/devices/1/memory/total_bytes", 1000, "/devices/1/memory/total_bytes",
       "must be an object (found number)"},
      {"/devices/1/memory/total_bytes",
       {{"value", 1000}},
       "/devices/1/memory/total_bytes",
       "a value needs a \"source\""},
      {"/devices/1/memory/total_bytes/source", "", "/devices/1/memory/total_bytes/source",
       "must be a text"},
      {"/devices/1/memory/total_bytes",
       {{"source", "s"}},
       "/devices/1/memory/total_bytes",
       "lacks \"value\""},
      {"/devices/1/memory/ceiling_bytes/value", 1001, "/devices/1/memory/ceiling_bytes",
       "1001 is more than the total (1000)"},
      {"/devices/1/memory/available_bytes/value", 1001, "/devices/1/memory/available_bytes",
       "more than the total"},
      {"/devices/1/memory/reserve_bytes/value", 1001, "/devices/1/memory/reserve_bytes",
       "more than the total"},
      {"/devices/1/integrated/value", 1, "/devices/1/integrated/value", "must be true or false"},
      {"/devices/1/memory_gb_per_s/value", 0, "/devices/1/memory_gb_per_s/value", "greater than 0"},
      {"/devices/1/link_gb_per_s", fact["value"], "/devices/1/link_gb_per_s", "must be an object"},
      {"/devices/1/compute_tflops/f31", fact, "/devices/1/compute_tflops/f31",
       "unknown key (allowed here: f32, "},
      {"/devices/1/compute_tflops", 3, "/devices/1/compute_tflops", "must be an object"},
      {"/devices/1/kept_quant_types/1", "q9_z", "/devices/1/kept_quant_types/1",
       "\"q9_z\" is no weight type"},
      {"/devices/1/kept_quant_types/1", "f16", "/devices/1/kept_quant_types/1",
       "\"f16\" is not block-quantised"},
      {"/devices/1/kept_quant_types/1", "q8_0", "/devices/1/kept_quant_types/1", "given twice"},
      {"/devices/1/lacks_ops/1", 4, "/devices/1/lacks_ops/1", "must be a text"},
      {"/devices/1/sim/free", 4, "/devices/1/sim/free", "unknown key"},
      {"/devices/1/sim/probe_answers", nullptr, "/devices/1/sim/probe_answers", "true or false"},
      {"/devices/1/sim/free_known", false, "/devices/1/sim/free_wrong_bytes", "\"free_known\""},
      {"/undriven/0", {{"name", "x"}}, "/undriven/0", "lacks \"reason\""},
      {"/undriven/0/kind", "cuda", "/undriven/0/kind", "unknown key"},
  };
  for (const Broken& broken : kCases) {
    ordered_json document = ordered_json::parse(kSmall);
    document[ordered_json::json_pointer(broken.at)] = broken.value;
    const Result<Profile> profile = ParseProfile(document.dump());
    ASSERT_FALSE(profile.ok()) << broken.at << " = " << broken.value;
    const Status status = profile.status();
    EXPECT_EQ(status.code(), Code::kInvalid) << broken.at;
    EXPECT_EQ(status.at(), broken.error_at) << broken.at << " = " << broken.value;
    EXPECT_NE(status.message().find(broken.says), std::string::npos) << status.message();
  }
}

TEST(ParseProfileTest, MissesNoRequiredKey) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "schema"},           {"", "name"},
      {"", "description"},      {"", "devices"},
      {"/devices/0", "id"},     {"/devices/0", "kind"},
      {"/devices/0", "name"},   {"/devices/0", "cores"},
      {"/devices/0", "memory"}, {"/undriven/0", "name"},
  };
  for (const auto& [place, key] : kCases) {
    ordered_json document = ordered_json::parse(kSmall);
    document[ordered_json::json_pointer(place)].erase(key);
    const Status status = ParseProfile(document.dump()).status();
    EXPECT_EQ(status.code(), Code::kInvalid) << place << " " << key;
    EXPECT_EQ(status.at(), place) << key;
    EXPECT_NE(status.message().find(std::string("lacks \"") + key + "\""), std::string::npos)
        << status.message();
  }
}

TEST(ParseProfileTest, ReadsWhatKernelsReach) {
  const auto with = [](const std::string& rates) {
    return ParseProfile(
        R"({"schema":"vt.profile/1","name":"n","description":"d","devices":[{"id":"cpu",)"
        R"("kind":"cpu","name":"c","cores":2,"memory":{"total_bytes":null},"kernel_rates":)" +
        rates + R"(,"launch_us":{"value":0.5,"source":"measured"}}]})");
  };
  const Result<Profile> profile =
      with(R"({"q4_k":{"gb_per_s":{"value":20.5,"source":"measured"},)"
           R"("tflops":{"value":0.2,"source":"measured"}},"attention":{"tflops":null}})");
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  const DeviceInfo& cpu = profile->devices[0];
  EXPECT_EQ(cpu.launch_us.value, 0.5);
  ASSERT_EQ(cpu.kernel_rates.size(), 2u);
  EXPECT_EQ(cpu.kernel_rates.at("q4_k").gb_per_s.value, 20.5);
  EXPECT_EQ(cpu.kernel_rates.at("q4_k").tflops.value, 0.2);
  EXPECT_FALSE(cpu.kernel_rates.at("attention").tflops.value.has_value());
  EXPECT_EQ(with(R"({"q9_z":{}})").status().at(), "/devices/0/kernel_rates/q9_z");
  EXPECT_EQ(with(R"({"q4_k":{"fast":1}})").status().at(), "/devices/0/kernel_rates/q4_k/fast");
  EXPECT_EQ(with("[]").status().at(), "/devices/0/kernel_rates");
}

TEST(ParseProfileTest, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "null", "{\"name\": 1, \"name\": 2}", "{} {}"}) {
    EXPECT_EQ(ParseProfile(text).status().code(), Code::kInvalid) << text;
  }
}

TEST(SimDevicesTest, AreTheDevicesOfAProfile) {
  const Result<std::vector<DeviceInfo>> small = SimDevices(Parsed("sim-small"));
  ASSERT_TRUE(small.ok());
  ASSERT_EQ(small->size(), 1u);
  EXPECT_EQ(small->front().kind, DeviceKind::kSim);
  EXPECT_EQ(small->front().memory_total.bytes, 256 * kMib);
  EXPECT_EQ(small->front().features, 0u);
  EXPECT_FALSE(small->front().described);
  ASSERT_TRUE(small->front().sim.has_value());
  EXPECT_TRUE(small->front().sim->probe_answers);
  EXPECT_FALSE(small->front().sim->fail_at_byte.has_value());

  const Result<std::vector<DeviceInfo>> desktop = SimDevices(Parsed("x86-avx2-desktop"));
  ASSERT_TRUE(desktop.ok());
  EXPECT_EQ(desktop->front().kind, DeviceKind::kSim);
  EXPECT_EQ(desktop->front().features, std::uint32_t{kFeatureAvx2});
  EXPECT_TRUE(desktop->front().sim.has_value());

  const Result<std::vector<DeviceInfo>> several = SimDevices(Parsed("r9700-x2"));
  ASSERT_TRUE(several.ok());
  EXPECT_EQ(several->size(), 3u);
  const Status none = SimDevices(Profile{}).status();
  EXPECT_EQ(none.code(), Code::kInvalid);
  EXPECT_EQ(none.at(), "/devices");
}

}  // namespace
}  // namespace vt
