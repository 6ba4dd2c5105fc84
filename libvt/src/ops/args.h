// The typed arguments of every op: plain structs of pointers and sizes, row-major throughout.
//
// Kernels compiled for one instruction set include this header, so nothing here may drag in inline
// library code. Pointers are not owned. All activations are f32 unless a field says otherwise.
// Every op's result for a row depends on that row alone (and, in attention, on its own sequence):
// not on the number of rows, their order, or the threads.
//
// Fused ops do in one pass what several ops do in turn, with the same result to the bit on a device
// that has both; `scratch` is the room their composed form needs (ScratchFloats says how much), and
// a native kernel leaves it alone.
#pragma once

#include "ops/op_list.h"
#include "ops/types.h"
