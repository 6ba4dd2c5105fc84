// docs/ops.md: the op table as a page.
#pragma once

#include <string>

#include "ops/registry.h"

namespace vt::cli {

// The same on every machine and for every build: it lists what kernels need, not what is here.
std::string OpsMarkdown(const Registry& registry);

}  // namespace vt::cli
