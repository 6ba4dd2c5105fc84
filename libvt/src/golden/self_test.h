// Shows that a check notices damage: copies of a golden and of a model are spoilt in one thing at a
// time, and the same check that passed before must fail.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "golden/check.h"
#include "golden/golden.h"
#include "vt/engine.h"
#include "vt/gguf.h"

namespace vt {

struct SelfTestRow {
  std::string what;    // "token: the first one is another"
  std::string target;  // "golden" or "model"
  bool noticed = false;
  std::string how;  // the first reason of the check, or its error
};

struct SelfTestOptions {
  EngineOptions engine;
  CheckLimits limits;
  bool any_digest = false;  // of the golden as it is; damage to digests is then not tried
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::size_t done, std::size_t total)> progress;  // kinds of damage
};

// The golden's two shortest cases stand for it. `file` is the model as it is; damage to it is done
// to a copy of all shards in a fresh folder below `temp_folder`, which is removed again.
// kInvalid: the golden does not pass as it is (nothing could be shown then). kDevice: no room or
// no right to write the copy.
Result<std::vector<SelfTestRow>> SelfTest(const Golden& golden, const GgufFile& file,
                                          const SelfTestOptions& options,
                                          const std::string& temp_folder);

}  // namespace vt
