// What each op may be asked: generated lists of types and shapes, from which the report learns the
// types that a kernel takes and the verification what to run.
//
// Every type there is, also those that nothing takes; shapes with every remainder of a vector's
// length, empty ones, and shapes that must be refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op_facts.h"

namespace vt {

struct OpCase {
  AnyArgs call;                // shapes and types, no memory
  std::int64_t positions = 0;  // attention: of the longest row; kv_store: the cells there are
  bool optional = true;        // with its optional inputs (weights of a norm, bias)
  bool in_place = false;       // the output lies on the input that it may (or may not) replace
  bool one_cache = false;      // attention: the values are the first of what the key cells hold
  // No kernel may take it. Of one that is in place this is only seen once it has memory.
  bool refused = false;
};

// In a fixed order. `op` is a name of the op table.
std::vector<OpCase> CasesOf(std::string_view op);

// Cases large enough for their speed to mean something; the first that a kernel takes is timed.
std::vector<OpCase> SpeedCasesOf(std::string_view op);

// "q4_k 33x512, m 8": the same text means the same case.
std::string LabelOf(const OpCase& op_case);

// The type that the op was asked for: of its weights or cells ("q4_k"; of attention "f16", or
// "f16/q8_0" where keys and values differ), else of its activations.
std::string TypeOf(const AnyArgs& call);

// How the activations come: "f32" or "q15".
std::string_view ActivationsOf(const AnyArgs& call);

}  // namespace vt
