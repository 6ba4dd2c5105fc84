// What a call of an op looks like to a reader: the type of its weight, its form, its sizes.
#pragma once

#include <string>

#include "ops/op_facts.h"
#include "ops/registry.h"

namespace vt {

OpShape ShapeOf(const AnyArgs& call);

// Op, type, form and sizes as text; two calls with the same text get the same answer from Resolve.
std::string SignatureOf(const AnyArgs& call);

}  // namespace vt
