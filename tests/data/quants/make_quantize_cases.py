#!/usr/bin/env python3
"""Writes what other quantisers make of the same values: exact.* and quantize.json beside this file.

Usage: make_quantize_cases.py LIBGGML_BASE_SO   (of llama.cpp b11434; needs packages numpy, gguf)

exact.f32 holds rows of 256 awkward values, exact.NAME the blocks that gguf-py makes of them
(gguf.quants.quantize), for formats whose bytes are settled. quantize.json holds, for every block
format, the normalised mean squared error of ggml_quantize_chunk: "gaussian" over 2^20 standard
normal values, "source" over source.f32. Formats whose bytes are not settled are asked both without
an importance matrix and with one of ones, and the lesser error counts.
"""
import ctypes
import json
import sys
from pathlib import Path

import gguf
import numpy as np

HERE = Path(__file__).parent
EXACT = "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 TQ1_0 TQ2_0 MXFP4 F16 BF16".split()
NEEDS_WEIGHTS = ("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs")


def awkward_rows():
    rng = np.random.default_rng(6)
    rows = []

    def add(values):
        rows.append(np.asarray(values, np.float32))

    add(rng.standard_normal(256))
    add(rng.standard_t(3, 256) * 0.02)
    add(np.zeros(256))
    add(np.full(256, 0.37))
    add(np.full(256, -1.5))
    add(np.where(np.arange(256) == 77, 900.0, 0.001 * rng.standard_normal(256)))
    add(np.where(np.arange(256) % 2, 1.0, -1.0))
    add((np.arange(256) - 128) / 16)
    add(np.arange(256) % 16 * 0.5 + 0.25)
    add(5 + 0.01 * rng.standard_normal(256))
    add(rng.standard_normal(256) * 3e-7)
    add(rng.standard_normal(256) * 8000)
    return np.stack(rows)


class Ggml:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        chunk = self.lib.ggml_quantize_chunk
        chunk.restype = ctypes.c_size_t
        chunk.argtypes = [ctypes.c_int] + [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3
        chunk.argtypes += [ctypes.c_void_p]
        self.lib.ggml_row_size.restype = ctypes.c_size_t
        self.lib.ggml_row_size.argtypes = [ctypes.c_int, ctypes.c_int64]

    def nmse(self, entry, x, weights):
        rows, cols = x.shape
        out = np.zeros(rows * self.lib.ggml_row_size(entry["id"], cols), np.uint8)
        self.lib.ggml_quantize_chunk(
            entry["id"], x.ctypes.data, out.ctypes.data, 0, rows, cols,
            weights.ctypes.data if weights is not None else None,
        )
        back = np.empty_like(x)
        decode = getattr(self.lib, f"dequantize_row_{entry['name']}")
        decode.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        decode(out.ctypes.data, back.ctypes.data, x.size)
        error = np.sum((back.astype(np.float64) - x) ** 2) / np.sum(x.astype(np.float64) ** 2)
        return float(f"{error:.6g}")


def main():
    x = awkward_rows()
    x.tofile(HERE / "exact.f32")
    for name in EXACT:
        with np.errstate(over="ignore"):
            blocks = gguf.quants.quantize(x, gguf.GGMLQuantizationType[name])
        blocks.tofile(HERE / f"exact.{name.lower()}")
    ggml = Ggml(sys.argv[1])
    index = json.loads((HERE / "index.json").read_text())
    source = np.fromfile(HERE / "source.f32", np.float32).reshape(index["rows"], index["cols"])
    normal = np.random.default_rng(1).standard_normal((1024, 1024)).astype(np.float32)
    nmse = {}
    for entry in index["types"]:
        for key, data in (("gaussian", normal), ("source", source)):
            ones = np.ones(data.shape[1], np.float32)
            kinds = [None, ones]
            if entry["name"] in NEEDS_WEIGHTS:
                kinds = [ones]
            elif entry["name"].upper() in EXACT:
                kinds = [None]
            best = min(ggml.nmse(entry, data, weights) for weights in kinds)
            nmse.setdefault(entry["name"].lower(), {})[key] = best
        print(entry["name"], nmse[entry["name"].lower()], file=sys.stderr)
    document = {
        "by": "make_quantize_cases.py",
        "exact": {"cols": x.shape[1], "rows": x.shape[0], "types": [n.lower() for n in EXACT]},
        "nmse_of": "ggml_quantize_chunk, llama.cpp b11434",
        "nmse": nmse,
    }
    (HERE / "quantize.json").write_text(json.dumps(document, indent=1) + "\n")


main()
