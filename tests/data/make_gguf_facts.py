#!/usr/bin/env python3
"""Writes gguf_facts.json: what gguf-py says about some model files.

    make_gguf_facts.py TINY_FOLDER MODELS_FOLDER > gguf_facts.json

Needs the gguf and xxhash packages. Of arrays and large tables a sample is kept (first, middle, last), of long strings the start.
"""
import json
import os
import sys

import gguf
import xxhash

TINY = ["llama-dense.gguf", "gemma4-26b.gguf", "granitehybrid-dense.gguf"]
MODELS = ["SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf",
          "qwen2.5-coder-0.5b-q4_k_m.gguf"]
NAMES = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"]


def sample(count):
    return sorted({0, count // 2, count - 1}) if count else []


def key_facts(field):
    kinds = [NAMES[t] for t in field.types]
    fact = {"key": field.name, "type": kinds[0]}
    if kinds[0] != "array":
        value = field.contents()
        if isinstance(value, str) and len(value.encode()) > 64:
            fact["text_bytes"] = len(value.encode())
            fact["starts"] = value[:16]
        else:
            fact["value"] = value
        return fact
    values = field.contents() if len(field.data) else []
    fact["count"] = len(values)
    # gguf-py keeps no element type of an empty array.
    fact["element_type"] = kinds[-1] if values else None
    fact["samples"] = [[i, values[i]] for i in sample(len(values))]
    if kinds[-1] == "string":
        fact["text_bytes"] = sum(len(v.encode()) for v in values)
    return fact


def tensor_facts(index, tensor):
    return {"index": index, "name": tensor.name, "type": tensor.tensor_type.name.lower(),
            "dims": [int(d) for d in tensor.shape], "offset": int(tensor.data_offset),
            "bytes": int(tensor.n_bytes),
            "first_bytes": bytes(tensor.data.reshape(-1).view("u1")[:8]).hex()}


def file_facts(folder, name, whole_table):
    path = os.path.join(folder, name)
    reader = gguf.GGUFReader(path)
    keys = [f for n, f in reader.fields.items() if not n.startswith("GGUF.")]
    count = len(reader.tensors)
    fact = {"file": name, "file_bytes": os.path.getsize(path),
            "version": int(reader.fields["GGUF.version"].contents()),
            "header_bytes": int(reader.data_offset), "keys": [key_facts(f) for f in keys],
            "tensor_count": count,
            "tensors": [tensor_facts(i, reader.tensors[i])
                        for i in (range(count) if whole_table else sample(count))]}
    if whole_table:
        with open(path, "rb") as data:
            fact["content_digest"] = "xxh3-128:" + xxhash.xxh3_128(data.read()).hexdigest()
    return fact


def main():
    tiny, models = sys.argv[1:]
    facts = {"oracle": "gguf-py", "tiny": [file_facts(tiny, n, True) for n in TINY],
             "models": [file_facts(models, n, False) for n in MODELS]}
    json.dump(facts, sys.stdout, indent=None, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
