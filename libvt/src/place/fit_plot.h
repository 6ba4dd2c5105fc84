// The curves of vt-fit as a picture.
#pragma once

#include <string>
#include <vector>

#include "place/fit_document.h"

namespace vt {

// SVG: for each device that the model uses, memory against context, a line for every KV type, and
// the budget.
std::string FitPlot(const FitModel& model, const Fit& fit, const std::vector<FitCurve>& curves);

}  // namespace vt
