// The answers of vt-place as text for people, at most 80 columns wide.
#pragma once

#include <string>
#include <vector>

#include "place/plan_diff.h"
#include "place/plan_document.h"

namespace vt::cli {

// Settings, the memory map, parts by ranges of layers, speed and notes.
std::string PlanTable(const PlanDocument& plan);

std::string TensorTable(const PlanDocument& plan, const PlannedTensor& tensor);

// `a` and `b` name the documents.
std::string PlanDiffTable(const PlanDiff& diff, const std::string& a, const std::string& b);

// The parts of the model that read a tensor, each once: "ffn of layer 3".
std::vector<std::string> PartsThatRead(const PlannedTensor& tensor);

}  // namespace vt::cli
