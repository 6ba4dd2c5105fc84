#include "ops/cases/op_cases.h"

#include <type_traits>

#include "ops/cases/case_lists.h"
#include "ops/op_facts.h"

namespace vt {
namespace {

CaseList ListFor(std::string_view op, Sweep sweep) {
  CaseList list;
  ForEachOp([&]<class Args>() {
    if (op == Args::kOp) FactsOf<Args>().add_cases(list, sweep);
  });
  return list;
}

// "33", "7x33", "7x33, pairs 4, half".
std::string TextOf(const OpShape& shape) {
  std::string text;
  for (const NamedSize& size : shape.sizes) {
    const bool first_two = size.name == "count" || size.name == "rows" || size.name == "cols";
    if (!first_two) text.append(", ").append(size.name).append(" ");
    if (size.name == "cols") text.append("x");
    text.append(std::to_string(size.value));
  }
  if (!shape.form.empty()) text.append(", ").append(shape.form);
  return text;
}

template <class Args>
std::string Label(const Args& args) {
  const OpFacts<Args>& facts = FactsOf<Args>();
  return facts.label ? facts.label(args) : TextOf(facts.shape(args));
}

}  // namespace

std::vector<OpCase> CasesOf(std::string_view op) { return ListFor(op, Sweep::kEveryShape); }

std::vector<OpCase> SpeedCasesOf(std::string_view op) { return ListFor(op, Sweep::kSpeed); }

std::string LabelOf(const OpCase& op_case) {
  std::string label = TypeOf(op_case.call) + " " +
                      std::visit([](const auto& args) { return Label(args); }, op_case.call);
  if (op_case.positions > 0) label += ", positions " + std::to_string(op_case.positions);
  if (!op_case.optional) label += ", without optional inputs";
  if (op_case.one_cache) label += ", values in the keys";
  if (op_case.in_place) label += ", in place";
  return label;
}

std::string TypeOf(const AnyArgs& call) {
  std::string type = std::visit(
      [](const auto& args) { return FactsOf<std::decay_t<decltype(args)>>().shape(args).type; },
      call);
  return type.empty() ? std::string(NameOf(DType::kF32)) : type;
}

std::string_view ActivationsOf(const AnyArgs& call) {
  return std::visit(
      [](const auto& args) -> std::string_view {
        if constexpr (requires { args.act == ActType::kQ15; }) {
          return args.act == ActType::kQ15 ? "q15" : "f32";
        } else {
          return "f32";
        }
      },
      call);
}

}  // namespace vt
