#include "caps/op_meanings.h"

#include "ops/op_facts.h"

namespace vt {

std::string_view MeaningOf(std::string_view op) {
  std::string_view meaning;
  ForEachOp([&]<class Args>() {
    if (op == Args::kOp) meaning = FactsOf<Args>().meaning;
  });
  return meaning;
}

}  // namespace vt
