#include "bench/rates_document.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "bench/statistics.h"

namespace vt {
namespace {

using Json = nlohmann::ordered_json;

std::string TextOf(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

double NumberOf(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : 0;
}

std::int64_t CountOf(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

std::vector<double> NumbersOf(const Json& object, const char* key) {
  std::vector<double> numbers;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array()) return numbers;
  for (const Json& value : *it) {
    if (value.is_number()) numbers.push_back(value.get<double>());
  }
  return numbers;
}

Status AddAxis(RatesDocument& document, AxisRates axis) {
  const bool bad = std::any_of(axis.tok_per_s.begin(), axis.tok_per_s.end(),
                               [](double rate) { return !(rate > 0 && rate < 1e15); });
  if (axis.tok_per_s.empty() || bad) {
    return InvalidError("benchmark output: axis " + axis.axis + " has no rate above 0");
  }
  axis.median = Median(axis.tok_per_s);
  document.axes.push_back(std::move(axis));
  return {};
}

// What llama-bench calls a test: "pp512", "tg128", "pp512+tg128", "@ d4096".
Status AddLlamaTest(const Json& test, RatesDocument& document) {
  const std::int64_t prompt = CountOf(test, "n_prompt"), gen = CountOf(test, "n_gen");
  AxisRates axis;
  if (prompt > 0) axis.axis = "pp" + std::to_string(prompt);
  if (gen > 0) axis.axis += (prompt > 0 ? "+tg" : "tg") + std::to_string(gen);
  if (axis.axis.empty()) return InvalidError("benchmark output: a test has no n_prompt and n_gen");
  if (const std::int64_t depth = CountOf(test, "n_depth")) {
    axis.axis += "@d" + std::to_string(depth);
  }
  axis.kind = prompt > 0 && gen > 0 ? "both" : prompt > 0 ? "prefill" : "decode";
  for (const double ns : NumbersOf(test, "samples_ns")) {
    if (ns > 0) axis.tok_per_s.push_back(static_cast<double>(prompt + gen) * 1e9 / ns);
  }
  if (axis.tok_per_s.empty()) axis.tok_per_s = NumbersOf(test, "samples_ts");
  if (axis.tok_per_s.empty()) axis.tok_per_s = {NumberOf(test, "avg_ts")};
  if (document.program.empty()) {
    document.program = "llama-bench " + TextOf(test, "build_commit");
    document.model = TextOf(test, "model_filename");
    document.device = TextOf(test, "cpu_info");
  }
  return AddAxis(document, std::move(axis));
}

Status ReadOwn(const Json& root, RatesDocument& document) {
  const auto part = [&](const char* key) -> const Json& {
    static const Json kNone;
    const auto it = root.find(key);
    return it == root.end() ? kNone : *it;
  };
  document.program =
      "vt-bench " + TextOf(part("tool"), "version") + " (" + TextOf(part("tool"), "commit") + ")";
  document.model = TextOf(part("model"), "file");
  document.digest = TextOf(part("model"), "digest");
  if (const Json& machine = part("machine"); machine.contains("device")) {
    document.device = TextOf(machine["device"], "name");
  }
  document.partial = part("partial").is_boolean() && part("partial").get<bool>();
  for (const Json& result : part("results")) {
    AxisRates axis{TextOf(result, "axis"), TextOf(result, "kind"), {}, 0};
    const double tokens = static_cast<double>(
        CountOf(result, "n_prompt") +
        CountOf(result, "n_gen") * std::max<std::int64_t>(1, CountOf(result, "batch")));
    for (const double ns : NumbersOf(result, "samples_ns")) {
      if (ns > 0) axis.tok_per_s.push_back(tokens * 1e9 / ns);
    }
    VT_RETURN_IF_ERROR(AddAxis(document, std::move(axis)));
  }
  for (const Json& launch : part("launches")) {
    document.kernels.push_back(TextOf(launch, "op") + " " + TextOf(launch, "kernel"));
  }
  std::sort(document.kernels.begin(), document.kernels.end());
  std::set<std::string> codes;
  for (const Json& one : part("voids")) codes.insert(TextOf(one, "code"));
  document.voids.assign(codes.begin(), codes.end());
  return {};
}

// The text from the first line that begins a JSON value.
std::string_view FromFirstValue(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t mark = text.find_first_not_of(" \t\r", at);
    if (mark != std::string_view::npos && (text[mark] == '[' || text[mark] == '{')) {
      return text.substr(mark);
    }
    const std::size_t line = text.find('\n', at);
    if (line == std::string_view::npos) break;
    at = line + 1;
  }
  return {};
}

Status ReadLines(std::string_view text, RatesDocument& document) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t mark = line.find_first_not_of(" \t\r");
    if (mark == std::string_view::npos || line[mark] != '{') continue;
    VT_ASSIGN_OR_RETURN(const Json test, ParseJson(line));
    VT_RETURN_IF_ERROR(AddLlamaTest(test, document));
  }
  return {};
}

}  // namespace

Result<RatesDocument> ParseRates(std::string_view text) {
  const std::string_view json = FromFirstValue(text);
  if (json.empty()) {
    return InvalidError(
        "benchmark output: holds no JSON; let the program print it (vt-bench run "
        "--json, llama-bench -o json)");
  }
  RatesDocument document;
  const Result<Json> root = ParseJson(json);
  if (!root.ok()) {
    // Several values, one a line.
    if (json[0] != '{' || json.find('\n') == std::string_view::npos ||
        !ReadLines(json, document).ok()) {
      return root.status().Annotate("benchmark output");
    }
  } else if (root->is_array()) {
    for (const Json& test : *root) {
      if (!test.is_object()) return InvalidError("benchmark output: an element is no object");
      VT_RETURN_IF_ERROR(AddLlamaTest(test, document));
    }
  } else if (TextOf(*root, "schema") == "vt.bench/1") {
    VT_RETURN_IF_ERROR(ReadOwn(*root, document));
  } else if (root->contains("n_prompt")) {
    VT_RETURN_IF_ERROR(AddLlamaTest(*root, document));
  } else {
    return InvalidError("benchmark output: neither vt.bench/1 nor llama-bench's JSON");
  }
  if (document.axes.empty()) return InvalidError("benchmark output: has no result");
  return document;
}

}  // namespace vt
