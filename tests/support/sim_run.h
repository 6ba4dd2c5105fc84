// Tiny models on simulated devices: what engine tests share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "support/test_files.h"
#include "vt/engine.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"

namespace vt::test {

// Sanitizers make the emulator slow: they look at every eleventh model.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kModelStep = 11;
#else
inline constexpr std::size_t kModelStep = 1;
#endif

inline DeviceInfo Sim(std::uint64_t bytes = std::uint64_t{64} << 20) {
  DeviceInfo sim;
  sim.kind = DeviceKind::kSim;
  sim.memory_total = {bytes, "a test"};
  sim.sim.emplace();
  return sim;
}

// Of an engine on the first of `count` simulated devices.
inline EngineOptions OnSims(int count, std::uint64_t context) {
  EngineOptions options;
  options.device = "sim:0";
  options.sims.assign(static_cast<std::size_t>(count), Sim());
  options.context = context;
  options.threads = 1;
  options.ubatch = 24;
  options.logit_rows = 24;
  options.kv_type = DType::kF32;
  return options;
}

struct TinyModel {
  GgufFile file;
  ModelSpec spec;
};

inline TinyModel OpenTiny(const std::string& name) {
  Result<GgufFile> file = GgufFile::Open(TinyPath(name + ".gguf"));
  EXPECT_TRUE(file.ok()) << file.status().message();
  Result<ModelSpec> spec = ReadModelSpec(*file);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return {std::move(*file), std::move(*spec)};
}

}  // namespace vt::test
