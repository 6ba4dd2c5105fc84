// vt-caps --model: what one model needs, and what runs it on each device.
// docs/json/vt.caps-model.md describes the document.
#pragma once

#include <string>

#include "caps/model_report.h"
#include "cli/caps_options.h"
#include "cli/console.h"
#include "vt/device.h"
#include "vt/status.h"

namespace vt::cli {

// Writes the document or the table to stdout. The exit code: 0, or 1 where some op of the model
// runs on no device or, with --require, anything is below the tier. Reads the header of the file
// alone. Errors: a model file or document that cannot be read, options that the model cannot have.
Result<int> RunCapsModel(const CapsOptions& options, const Machine& machine, Console& console);

// The report as text of at most 80 columns.
std::string ModelTable(const ModelReport& report);

}  // namespace vt::cli
