// Goldens made by others (vt.golden/1): prompts, logits and greedy tokens to compare with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vt/tokenizer.h"

namespace vt::test {

struct GoldenCase {
  std::string name;
  std::string prompt_text;
  std::vector<TokenId> prompt;
  std::vector<TokenId> generated;
  std::vector<double> margins;
  std::vector<std::vector<float>> dense;  // [position][vocab], or empty
  struct TopRow {
    double log_sum_exp = 0;
    std::vector<std::pair<TokenId, double>> top;
  };
  std::vector<TopRow> top;  // [position], or empty
  double peer_mean_kl = 0;
};

std::vector<GoldenCase> ReadGolden(const std::string& path);

}  // namespace vt::test
