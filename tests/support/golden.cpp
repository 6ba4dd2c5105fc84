#include "support/golden.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/test_files.h"

namespace vt::test {

std::vector<GoldenCase> ReadGolden(const std::string& path) {
  const auto document = nlohmann::json::parse(ReadFile(path));
  EXPECT_EQ(document.at("schema"), "vt.golden/1") << path;
  std::vector<GoldenCase> cases;
  for (const auto& from : document.at("cases")) {
    GoldenCase to;
    to.name = from.at("name");
    to.prompt_text = from.value("prompt_text", "");
    to.prompt = from.at("prompt_tokens").get<std::vector<TokenId>>();
    to.generated = from.at("generated_tokens").get<std::vector<TokenId>>();
    to.margins = from.at("margins").get<std::vector<double>>();
    const auto& logits = from.at("logits");
    if (logits.at("form") == "dense") {
      to.dense = logits.at("rows").get<std::vector<std::vector<float>>>();
    } else {
      for (const auto& row : logits.at("rows")) {
        GoldenCase::TopRow out;
        out.log_sum_exp = row.at("lse");
        for (const auto& pair : row.at("top")) out.top.emplace_back(pair.at(0), pair.at(1));
        to.top.push_back(std::move(out));
      }
    }
    if (from.contains("peer")) to.peer_mean_kl = from.at("peer").at("mean_kl_to_exact");
    cases.push_back(std::move(to));
  }
  return cases;
}

}  // namespace vt::test
