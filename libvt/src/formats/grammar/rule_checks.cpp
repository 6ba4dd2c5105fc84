#include "formats/grammar/rule_checks.h"

#include <algorithm>
#include <functional>
#include <string>

namespace vt::grammar {
namespace {

using Kind = Expression::Kind;
using Flags = std::vector<bool>;  // by rule

// Whether the expression can be read as wanted, when the rules in `known` can. `text`: what a text
// of its own counts as, given whether it is empty.
bool Holds(const Expression& e, const Flags& known, bool empty_only) {
  switch (e.kind) {
    case Kind::kText:
      return !empty_only || e.text.empty();
    case Kind::kClass:
      return !empty_only;
    case Kind::kRule:
      return known[e.rule];
    case Kind::kSequence:
      return std::all_of(e.parts.begin(), e.parts.end(),
                         [&](const Expression& part) { return Holds(part, known, empty_only); });
    case Kind::kChoice:
      return std::any_of(e.parts.begin(), e.parts.end(),
                         [&](const Expression& part) { return Holds(part, known, empty_only); });
    case Kind::kRepeat:
      return e.min == 0 || Holds(e.parts.front(), known, empty_only);
  }
  return false;
}

// The rules that can be read by the empty text, or else by any finite text at all.
Flags Fixpoint(const Syntax& syntax, bool empty_only) {
  Flags known(syntax.rules.size(), false);
  const std::size_t count = known.size();
  // Rules mostly use later ones or earlier ones, so both directions take turns.
  for (bool changed = true, backwards = true; changed; backwards = !backwards) {
    changed = false;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t rule = backwards ? count - 1 - i : i;
      if (known[rule] || !Holds(syntax.rules[rule].body, known, empty_only)) continue;
      known[rule] = true;
      changed = true;
    }
  }
  return known;
}

// Rules that may be entered before a character is read.
void FirstCalls(const Expression& e, const Flags& empty, std::vector<std::size_t>* calls) {
  switch (e.kind) {
    case Kind::kRule:
      calls->push_back(e.rule);
      break;
    case Kind::kSequence:
      for (const Expression& part : e.parts) {
        FirstCalls(part, empty, calls);
        if (!Holds(part, empty, true)) break;
      }
      break;
    case Kind::kChoice:
      for (const Expression& part : e.parts) FirstCalls(part, empty, calls);
      break;
    case Kind::kRepeat:
      if (e.max > 0) FirstCalls(e.parts.front(), empty, calls);
      break;
    default:
      break;
  }
}

Status CheckLeftRecursion(const Syntax& syntax) {
  const Flags empty = Fixpoint(syntax, true);
  const std::size_t count = syntax.rules.size();
  std::vector<std::vector<std::size_t>> calls(count);
  for (std::size_t i = 0; i < count; ++i) FirstCalls(syntax.rules[i].body, empty, &calls[i]);
  enum class Visit : std::uint8_t { kNew, kOpen, kDone };
  std::vector<Visit> visits(count, Visit::kNew);
  for (std::size_t start = 0; start < count; ++start) {
    if (visits[start] != Visit::kNew) continue;
    std::vector<std::pair<std::size_t, std::size_t>> path = {{start, 0}};  // rule, calls followed
    visits[start] = Visit::kOpen;
    while (!path.empty()) {
      const std::size_t rule = path.back().first;
      if (path.back().second == calls[rule].size()) {
        visits[rule] = Visit::kDone;
        path.pop_back();
        continue;
      }
      const std::size_t called = calls[rule][path.back().second++];
      if (visits[called] == Visit::kNew) {
        visits[called] = Visit::kOpen;
        path.emplace_back(called, 0);
      } else if (visits[called] == Visit::kOpen) {
        std::string way;
        bool inside = false;
        for (const auto& step : path) {
          inside = inside || step.first == called;
          if (inside) way += syntax.rules[step.first].name + " -> ";
        }
        const Rule& named = syntax.rules[called];
        return ErrorAt(named.place, "rule \"" + named.name + "\": left recursion (" + way +
                                        named.name +
                                        "): it begins with itself; write a repetition, as in "
                                        "sum ::= term (\"+\" term)*");
      }
    }
  }
  return {};
}

std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
  return a != 0 && b > kUnbounded / a ? kUnbounded : a * b;
}
std::uint64_t Plus(std::uint64_t a, std::uint64_t b) { return std::min(a, kUnbounded - b) + b; }

// Steps that the expression takes; the first repetition that is too long is reported.
std::uint64_t StepsOf(const Expression& e, Status* status) {
  std::uint64_t steps = 0;
  for (const Expression& part : e.parts) steps = Plus(steps, StepsOf(part, status));
  switch (e.kind) {
    case Kind::kText:
      return e.text.size();
    case Kind::kClass:
    case Kind::kRule:
      return 1;
    case Kind::kSequence:
      break;
    case Kind::kChoice:
      steps = Plus(steps, e.parts.size());
      break;
    case Kind::kRepeat:
      steps = Times(Plus(steps, 1), e.max == kUnbounded ? Plus(e.min, 1) : e.max);
      break;
  }
  if (steps > kMostSteps && status->ok()) {
    *status = ErrorAt(e.place, "the grammar is larger than " + std::to_string(kMostSteps) +
                                   " steps once its repetitions are written out; lower the bounds, "
                                   "or leave upper ones out ({m,})");
  }
  return steps;
}

}  // namespace

Status CheckRules(const Syntax& syntax) {
  VT_RETURN_IF_ERROR(CheckLeftRecursion(syntax));
  const Rule& root = syntax.rules[syntax.root];
  if (!Fixpoint(syntax, false)[syntax.root]) {
    return ErrorAt(root.place,
                   "rule \"" + root.name +
                       "\": no finite text fits, since every way through it comes back to a rule "
                       "that it is inside of; give one of them an alternative that ends");
  }
  Status status;
  std::uint64_t steps = 0;
  for (const Rule& rule : syntax.rules) {
    steps = Plus(steps, StepsOf(rule.body, &status));
    VT_RETURN_IF_ERROR(status);
  }
  if (steps > kMostSteps) {
    return ErrorAt(root.place, "the grammar has " + std::to_string(steps) + " steps (at most " +
                                   std::to_string(kMostSteps) +
                                   "); lower the bounds of its repetitions");
  }
  return {};
}

}  // namespace vt::grammar
