#include "golden/diff.h"

#include <algorithm>
#include <map>

namespace vt {
namespace {

constexpr std::size_t kAgreementK = 10;
constexpr double kLeastRest = 1e-5;  // six digits leave no more

std::map<TokenId, double> LogProbs(const GoldenRow& row) {
  std::map<TokenId, double> out;
  for (std::size_t i = 0; i < row.dense.size(); ++i) {
    out[static_cast<TokenId>(i)] = static_cast<double>(row.dense[i]) - row.lse;
  }
  for (const auto& [id, logit] : row.top) out[id] = logit - row.lse;
  return out;
}

std::vector<TokenId> Highest(const std::map<TokenId, double>& row) {
  std::vector<std::pair<double, TokenId>> order;
  order.reserve(row.size());
  for (const auto& [id, value] : row) order.emplace_back(-value, id);
  std::sort(order.begin(), order.end());
  std::vector<TokenId> ids;
  for (const auto& [value, id] : order) {
    if (ids.size() < kAgreementK) ids.push_back(id);
  }
  return ids;
}

// Adds a row of the same position.
struct RowSums {
  double kl = 0;
  std::size_t hits = 0, wanted = 0;

  void Add(const GoldenRow& a, const GoldenRow& b, std::size_t row, CaseReport* report) {
    const RowDistance off = CompareRows(a, b);
    ++report->rows;
    kl += off.kl;
    hits += off.top_k_hits;
    wanted += off.top_k;
    report->top_k = std::max(report->top_k, off.top_k);
    if (!(off.kl <= report->kl.value)) report->kl = {off.kl, row};
    if (!(off.logprob <= report->logprob.value)) report->logprob = {off.logprob, row};
    if (!std::isnan(off.nmse)) {
      report->dense = true;
      if (!(off.nmse <= report->nmse.value)) report->nmse = {off.nmse, row};
    }
  }
};

// Tokens up to the first that differs; gives how many are the same.
std::size_t CompareTokens(const GoldenCase& a, const GoldenCase& b, const CheckLimits& limits,
                          CaseReport* report) {
  const std::size_t both = std::min(a.generated.size(), b.generated.size());
  std::size_t i = 0;
  for (; i < both && a.generated[i] == b.generated[i]; ++i) {
    ++report->same;
    const double off = std::abs(a.margins[i] - b.margins[i]);
    if (std::isnan(off)) continue;
    ++report->margins;
    if (!(off <= report->margin.value)) report->margin = {off, i};
  }
  if (i == both) return i;
  Departure part;
  part.index = i;
  part.golden = a.generated[i];
  part.ours = b.generated[i];
  part.golden_margin = a.margins[i];
  // Near in both: where one sees a clear winner, the other is wrong.
  const bool tie = a.margins[i] < limits.tie && b.margins[i] < limits.tie;
  part.verdict = tie ? TokenVerdict::kNearTie : TokenVerdict::kWrong;
  ++(tie ? report->ties : report->wrong);
  report->departures.push_back(part);
  return i;
}

CaseReport DiffCase(const GoldenCase& a, const GoldenCase& b, const CheckLimits& limits) {
  CaseReport report;
  report.name = a.name;
  report.tokens = a.generated.size();
  if (a.prompt != b.prompt) {
    report.state = CaseState::kWrong;
    report.wrong = report.tokens;
    report.reasons = {"the prompts have different tokens"};
    return report;
  }
  const std::size_t same = CompareTokens(a, b, limits, &report);
  report.unchecked = report.tokens - report.same - report.ties - report.wrong;
  RowSums sums;
  for (std::size_t i = 0; i + 1 < a.prompt.size(); ++i) {
    if (i < a.rows.size() && i < b.rows.size()) sums.Add(a.rows[i], b.rows[i], i, &report);
  }
  for (std::size_t i = 0; i < std::max<std::size_t>(a.generated.size(), 1) && i <= same; ++i) {
    const GoldenRow* x = RowThatChose(a, i);
    const GoldenRow* y = RowThatChose(b, i);
    if (x && y) sums.Add(*x, *y, a.prompt.size() - 1 + i, &report);
  }
  if (report.rows > 0) {
    report.mean_kl = sums.kl / static_cast<double>(report.rows);
    report.top_k_agreement = static_cast<double>(sums.hits) / static_cast<double>(sums.wanted);
  }
  CompareCheckpoints(a.checkpoints, b.checkpoints, a.prompt.size() + same, limits, &report);
  report.missing_checkpoints.clear();  // each golden keeps the layers it was asked for
  JudgeCase(limits, &report);
  if (a.generated.size() != b.generated.size() && report.departures.empty()) {
    report.reasons.push_back(std::to_string(a.generated.size()) + " tokens in one, " +
                             std::to_string(b.generated.size()) + " in the other");
    report.state = CaseState::kWrong;
  }
  return report;
}

CaseReport OnlyInOne(const GoldenCase& one, const char* where) {
  CaseReport report;
  report.name = one.name;
  report.tokens = one.generated.size();
  report.reasons = {std::string("only in the ") + where};
  return report;
}

}  // namespace

RowDistance CompareRows(const GoldenRow& a, const GoldenRow& b) {
  RowDistance out;
  const std::map<TokenId, double> p = LogProbs(a);
  const std::map<TokenId, double> q = LogProbs(b);
  double p_rest = 1;
  double q_rest = 1;
  for (const auto& [id, log_p] : p) {
    const auto other = q.find(id);
    if (other == q.end()) continue;
    out.kl += std::exp(log_p) * (log_p - other->second);
    p_rest -= std::exp(log_p);
    q_rest -= std::exp(other->second);
    const double off = std::abs(log_p - other->second);
    if (off > out.logprob) {
      out.logprob = off;
      out.logprob_id = id;
    }
  }
  if (p_rest > kLeastRest) out.kl += p_rest * std::log(p_rest / std::max(q_rest, kLeastRest));
  if (!a.dense.empty() && a.dense.size() == b.dense.size()) {
    double error = 0;
    double power = 0;
    for (std::size_t i = 0; i < a.dense.size(); ++i) {
      const double off = static_cast<double>(b.dense[i]) - static_cast<double>(a.dense[i]);
      error += off * off;
      power += static_cast<double>(a.dense[i]) * static_cast<double>(a.dense[i]);
    }
    out.nmse = power > 0 ? error / power : error;
  }
  const std::vector<TokenId> wanted = Highest(p);
  const std::vector<TokenId> got = Highest(q);
  out.top_k = wanted.size();
  for (const TokenId id : got) {
    out.top_k_hits += std::find(wanted.begin(), wanted.end(), id) != wanted.end() ? 1 : 0;
  }
  return out;
}

std::vector<CaseReport> DiffGoldens(const Golden& a, const Golden& b, const CheckLimits& limits) {
  const auto find = [](const Golden& golden, const std::string& name) {
    return std::find_if(golden.cases.begin(), golden.cases.end(),
                        [&](const GoldenCase& one) { return one.name == name; });
  };
  std::vector<CaseReport> reports;
  for (const GoldenCase& one : a.cases) {
    const auto other = find(b, one.name);
    reports.push_back(other == b.cases.end() ? OnlyInOne(one, "first golden")
                                             : DiffCase(one, *other, limits));
  }
  for (const GoldenCase& one : b.cases) {
    if (find(a, one.name) == a.cases.end()) reports.push_back(OnlyInOne(one, "second golden"));
  }
  return reports;
}

}  // namespace vt
