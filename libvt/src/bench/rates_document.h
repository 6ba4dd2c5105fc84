// Rates out of what benchmark programs print: vt.bench/1, and the JSON and JSON Lines of
// llama-bench and its relatives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vt/status.h"

namespace vt {

struct AxisRates {
  std::string axis;               // "pp512", as of AxisOf
  std::string kind;               // "prefill", "decode", "both"
  std::vector<double> tok_per_s;  // samples; of a program that prints none, the average alone
  double median = 0;
};

struct RatesDocument {
  std::string program;  // "vt-bench 0.1.0 (abc)", "llama-bench <commit>"
  std::string model;    // file
  std::string digest;   // empty: not told
  std::string device;   // "AMD Ryzen 9 7950X"; empty: not told
  bool partial = false;
  std::vector<AxisRates> axes;
  std::vector<std::string> kernels;  // "matmul cpu.avx2.q15", sorted; empty: not told
  std::vector<std::string> voids;    // codes, each once
};

// Lines before the first that begins with '[' or '{' are the program's chatter and are passed over.
// kInvalid: no document, one of an unknown kind, or one without a result.
Result<RatesDocument> ParseRates(std::string_view text);

}  // namespace vt
