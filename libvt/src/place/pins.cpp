#include "place/pins.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/json_writer.h"
#include "models/spec_weights.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace vt {
namespace {

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct MatchDeleter {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};
using MatchData = std::unique_ptr<pcre2_match_data, MatchDeleter>;

// A pattern that looks for itself anywhere in a name.
class Pattern {
 public:
  static Result<Pattern> Compile(const std::string& rule, const std::string& text) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    Pattern pattern;
    pattern.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
                                      &error, &offset, nullptr));
    if (!pattern.code_) {
      PCRE2_UCHAR message[128] = {};
      pcre2_get_error_message(error, message, sizeof message);
      return InvalidError(ValidUtf8(rule) + ": the pattern does not compile: " +
                          reinterpret_cast<const char*>(message) + " (at offset " +
                          std::to_string(offset) + " of \"" + ValidUtf8(text) + "\")");
    }
    pattern.match_.reset(pcre2_match_data_create_from_pattern(pattern.code_.get(), nullptr));
    return pattern;
  }
  // kInvalid: the match took more steps than any name is worth.
  Result<bool> Finds(std::string_view name) const {
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(name.data()),
                                  name.size(), 0, 0, match_.get(), nullptr);
    if (found >= 0) return true;
    if (found == PCRE2_ERROR_NOMATCH) return false;
    return InvalidError("the pattern cannot be matched with " + std::string(name) +
                        " (PCRE2 error " + std::to_string(found) + "); make it simpler");
  }

 private:
  std::unique_ptr<pcre2_code, CodeDeleter> code_;
  MatchData match_;
};

// What a pattern and a name have in common: the longest run of characters.
std::size_t CommonRun(std::string_view a, std::string_view b) {
  std::size_t longest = 0;
  std::vector<std::size_t> before(b.size() + 1), now(b.size() + 1);
  for (const char c : a) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      now[j + 1] = c == b[j] ? before[j] + 1 : 0;
      longest = std::max(longest, now[j + 1]);
    }
    std::swap(before, now);
  }
  return longest;
}

std::string NearNames(const GgufFile& file, const std::vector<bool>& matrices,
                      const std::string& pattern) {
  constexpr std::size_t kNames = 3;
  std::string plain;
  for (const char c : pattern) {
    if (std::string_view("\\^$()[]{}|*+?").find(c) == std::string_view::npos) plain += c;
  }
  std::vector<std::pair<std::size_t, std::size_t>> ranked;  // by nearness, then in file order
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    if (matrices[i]) ranked.emplace_back(CommonRun(plain, file.tensors()[i].name), i);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string names;
  for (std::size_t i = 0; i < std::min(kNames, ranked.size()); ++i) {
    names.append(names.empty() ? "" : ", ").append(file.tensors()[ranked[i].second].name);
  }
  return names;
}

std::string Listed(const std::vector<DeviceInfo>& devices) {
  std::string names;
  for (const DeviceInfo& device : devices) {
    names.append(names.empty() ? "" : ", ").append(device.id);
  }
  return names;
}

class Resolver {
 public:
  Resolver(const GgufFile& file, const ModelSpec& spec, const PlaceRequest& request)
      : file_(file), spec_(spec), request_(request), matrices_(file.tensors().size()) {
    pins_.device.assign(file.tensors().size(), -1);
    pins_.rule.assign(file.tensors().size(), -1);
    VisitWeights(spec, [&](int, const char*, WeightUse use, const WeightRef& ref) {
      if (use == WeightUse::kMatrix) matrices_[static_cast<std::size_t>(ref.tensor)] = true;
    });
  }

  Result<PinnedTensors> Run() {
    for (const Pin& pin : request_.pins) VT_RETURN_IF_ERROR(Add(pin));
    VT_RETURN_IF_ERROR(AddExperts());
    return std::move(pins_);
  }

 private:
  Result<int> DeviceOf(const std::string& rule, const std::string& id) const {
    for (std::size_t d = 0; d < request_.devices.size(); ++d) {
      if (request_.devices[d].id == id) return static_cast<int>(d);
    }
    return InvalidError(ValidUtf8(rule) + ": device \"" + ValidUtf8(id) +
                        "\" is not there (devices: " + Listed(request_.devices) + ")");
  }

  Status Claim(std::size_t tensor, int device, int rule) {
    int& now = pins_.device[tensor];
    if (now >= 0 && now != device) {
      return InvalidError(
          pins_.RuleOf(tensor) + " and " + pins_.rules[static_cast<std::size_t>(rule)] +
          ": both claim tensor " + std::string(file_.tensors()[tensor].name) + ", for " +
          request_.devices[static_cast<std::size_t>(now)].id + " and " +
          request_.devices[static_cast<std::size_t>(device)].id + "; let one of them leave it out");
    }
    if (now >= 0) return {};
    now = device;
    pins_.rule[tensor] = rule;
    return {};
  }

  int AddRule(std::string text) {
    pins_.rules.push_back(std::move(text));
    return static_cast<int>(pins_.rules.size()) - 1;
  }

  Status Add(const Pin& pin) {
    const std::string text = "pin " + ValidUtf8(pin.text());
    VT_ASSIGN_OR_RETURN(const int device, DeviceOf(text, pin.device));
    VT_ASSIGN_OR_RETURN(const Pattern pattern, Pattern::Compile(text, pin.pattern));
    const int rule = AddRule(text);
    std::size_t found = 0, claimed = 0, other = 0;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      const Result<bool> finds = pattern.Finds(file_.tensors()[i].name);
      if (!finds.ok()) return finds.status().Annotate(text);
      if (!*finds) continue;
      if (++found == 1) other = i;
      if (!matrices_[i]) continue;
      ++claimed;
      VT_RETURN_IF_ERROR(Claim(i, device, rule));
    }
    if (found == 0) {
      return InvalidError(
          text + ": matches no tensor; near it: " + NearNames(file_, matrices_, pin.pattern));
    }
    if (claimed == 0) {
      return InvalidError(text + ": matches no matrix, only " + std::to_string(found) +
                          " other tensors such as " + std::string(file_.tensors()[other].name) +
                          "; these lie with the ops that read them: pin a matrix beside them");
    }
    return {};
  }

  Status AddExperts() {
    if (request_.n_cpu_moe < 0) {
      return InvalidError("--n-cpu-moe " + std::to_string(request_.n_cpu_moe) +
                          ": must be at least 0");
    }
    if (!request_.cpu_moe && request_.n_cpu_moe == 0) return {};
    const std::string text =
        request_.cpu_moe ? "--cpu-moe" : "--n-cpu-moe " + std::to_string(request_.n_cpu_moe);
    VT_ASSIGN_OR_RETURN(const int device, DeviceOf(text, "cpu"));
    const int rule = AddRule(text);
    std::int64_t layers = 0;
    for (const LayerSpec& layer : spec_.layers) {
      if (layer.moe.experts == 0) continue;
      if (!request_.cpu_moe && layers == request_.n_cpu_moe) break;
      ++layers;
      for (const ExpertRef* ref : {&layer.moe.gate, &layer.moe.up, &layer.moe.down}) {
        if (!*ref) continue;
        VT_RETURN_IF_ERROR(Claim(static_cast<std::size_t>(ref->weight.tensor), device, rule));
      }
    }
    if (layers == 0) return InvalidError(text + ": the model has no experts; leave it out");
    return {};
  }

  const GgufFile& file_;
  const ModelSpec& spec_;
  const PlaceRequest& request_;
  std::vector<bool> matrices_;
  PinnedTensors pins_;
};

}  // namespace

Result<PinnedTensors> ResolvePins(const GgufFile& file, const ModelSpec& spec,
                                  const PlaceRequest& request) {
  return Resolver(file, spec, request).Run();
}

}  // namespace vt
