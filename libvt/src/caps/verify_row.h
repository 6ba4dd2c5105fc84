// The cases of one row on one device, in this process.
#pragma once

#include <string_view>

#include "caps/caps_report.h"

namespace vt {

VerifyFigures VerifyRow(const Registry& registry, std::string_view op, std::string_view kernel,
                        const DeviceInfo& device);

}  // namespace vt
