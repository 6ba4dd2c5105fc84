#!/usr/bin/env python3
"""Writes broken and odd GGUF files, and what a tool must say about each, into a folder.

    make_broken_gguf.py FOLDER

index.json is a list of {file, layer, expect_exit, message_contains, note}. `layer` says who must
notice: "container" is the GGUF reader itself, "model" the hyper-parameters and tensors of the
architecture, "tokenizer" the vocabulary. The reader opens files of the other two layers without
complaint. expect_exit is a tool's: 0 it loads, 3 damaged, 4 legal but not supported. Some entries
name a file that is not there, a directory or a FIFO. Standard library only.
"""
import json
import math
import os
import struct
import sys

from gguf_bytes import (ARRAY, BOOL, EMBD, F32, F32T, F64T, FF, I8, I16, I32, I32_TENSOR, I64, Q4_0,
                        STRING, U8, U16, U32, U64, VOCAB, Gguf, Raw, Tensor, array, base, bpe_base,
                        spm_vocabulary, text)

MAX64, MAX_I64, MAX32 = 2**64 - 1, 2**63 - 1, 2**32 - 1
L, T = "llama.", "tokenizer.ggml."


class Corpus:
    def __init__(self, folder):
        self.folder, self.index = folder, []

    def path(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def write(self, name, data):
        with open(self.path(name), "wb") as out:
            out.write(data.bytes() if isinstance(data, Gguf) else data)

    def case(self, name, data, layer, code, contains, note):
        """data None: the caller made the file, or there is none."""
        if data is not None:
            self.write(name, data)
        self.index.append({"file": name, "layer": layer, "expect_exit": code,
                           "message_contains": contains, "note": note})


def small():
    """A legal container with one tensor of 64 values; no model."""
    g = Gguf().set("general.architecture", STRING, "llama")
    g.tensors.append(Tensor("t", [64]))
    return g


def container_files(c):
    def bad(name, data, contains, note, code=3):
        c.case(name + ".gguf", data, "container", code, contains, note)

    os.makedirs(c.path("is-directory.gguf"), exist_ok=True)
    bad("is-directory", None, ["is-directory.gguf", "directory"], "a directory")
    bad("not-there", None, ["not-there.gguf", "No such file"], "no such file")
    os.mkfifo(c.path("is-fifo.gguf"))
    bad("is-fifo", None, ["is-fifo.gguf", "FIFO"], "opening it must not block")
    os.symlink("nowhere.gguf", c.path("dangling-link.gguf"))
    bad("dangling-link", None, ["dangling-link.gguf", "No such file"], "a link to nothing")

    whole = small().bytes()
    bad("empty", b"", ["empty", "0 bytes"], "no bytes at all")
    bad("three-bytes", b"GGU", ["magic"], "shorter than the magic")
    bad("magic-only", b"GGUF", ["version"], "nothing after the magic")
    bad("cut-in-counts", whole[:20], ["key count"], "ends inside the second count")
    bad("zip", b"PK\x03\x04" + whole[4:], ["PK\\x03\\x04", "GGUF"], "a zip file")
    bad("old-ggjt", b"tjgg" + whole[4:], ["tjgg", "older"], "a format before GGUF")
    bad("html", b"<!DOCTYPE html><html>not found</html>", ["<!DO"], "an error page saved as a model")
    bad("lfs-pointer", b"version https://git-lfs.github.com/spec/v1\n", ["git-lfs"], "LFS pointer")
    for version, code, words in ((0, 3, ["version 0"]), (1, 4, ["version 1"]), (4, 4, ["version 4"]),
                                 (0x03000000, 4, ["big-endian"])):
        g = small()
        g.version = version
        bad("version-%d" % version, g, words, "versions 2 and 3 are read", code)
    bad("magic-reversed", b"FUGG" + whole[4:], ["big-endian"], "byte order of the magic", 4)


def container_metadata(c):
    def bad(name, data, contains, note, code=3):
        c.case(name + ".gguf", data, "container", code, contains, note)

    def with_key(kind, raw, name="k"):
        """A file that ends right after one hand-made value."""
        return (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text(name) + struct.pack("<I", kind) + raw)

    for name, field, count in (("tensors-2e63", "tensor_count", 2**63),
                               ("tensors-max", "tensor_count", MAX64),
                               ("tensors-one-more", "tensor_count", 2),
                               ("keys-2e63", "key_count", 2**63), ("keys-max", "key_count", MAX64)):
        g = small()
        setattr(g, field, count)
        words = ["tensor"] if count == 2 else [field.split("_")[0] + " count", str(count)]
        bad(name, g, words, "a count beyond the bytes that are there")
    g = small()
    g.key_count = 2
    bad("keys-one-more", g, [], "the tensor table is read as a key")

    for name, kind, count in (("array-2e63", U8, 2**63), ("array-max", U8, MAX64),
                              ("array-wraps", U64, 2**61 + 1), ("array-strings-2e63", STRING, 2**63),
                              ("array-strings-wrap", STRING, 2**61), ("array-one-more", U16, 5)):
        body = struct.pack("<IQ", kind, count) + bytes(8 if kind == U16 else 40)
        bad(name, with_key(ARRAY, body), ['"k"', str(count)], "array length beyond the bytes left")
    bad("array-string-past-end",
        with_key(ARRAY, struct.pack("<IQ", STRING, 2) + text("a") + struct.pack("<Q", 9) + b"short"),
        ['"k"', "9 bytes"], "the second string of an array is longer than the file")
    bad("array-of-arrays", with_key(ARRAY, struct.pack("<IQ", ARRAY, 1) + array(U8, [1])),
        ['"k"', "array of arrays"], "legal by the specification, used by no model", 4)
    nested = struct.pack("<IQ", ARRAY, 1) * 1000 + struct.pack("<IQ", U8, 1) + b"\1"
    bad("array-nested-deep", with_key(ARRAY, nested), ['"k"', "array of arrays"],
        "a recursive reader overflows its stack", 4)
    bad("array-type-99", with_key(ARRAY, struct.pack("<IQ", 99, 1) + bytes(8)), ['"k"', "99"],
        "unknown element type")
    bad("type-13", with_key(13, bytes(8)), ['"k"', "13"], "unknown value type")
    bad("type-max", with_key(MAX32, bytes(8)), ['"k"', str(MAX32)], "unknown value type")
    for name, length, body in (("string-2e63", 2**63, b""), ("string-max", MAX64, b""),
                               ("string-one-more", 6, b"hello")):
        bad(name, with_key(STRING, struct.pack("<Q", length) + body), ['"k"', str(length)],
            "string length beyond the bytes left")
    bad("scalar-cut", with_key(U64, bytes(7)), ['"k"'], "the file ends inside a value")
    bad("key-name-max", b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, MAX64) + bytes(40), [str(MAX64)],
        "length of a key name")
    bad("key-name-empty", with_key(U64, bytes(8), ""), ["name of key 0"], "a key without a name")
    bad("key-name-long", with_key(U8, b"\1", "k" * 65536), ["65536"], "longer than 65535 bytes")
    bad("key-twice", small().add("a", U8, 1).add("a", U8, 2), ['"a"', "twice"], "duplicate key")
    bad("key-name-bytes", small().add(b"\xff\x00\n\"", U8, 1).add(b"\xff\x00\n\"", U8, 1),
        ["\\xFF\\x00\\n\\\""], "what is printed of a hostile name is escaped")
    bad("bool-2", with_key(BOOL, b"\2"), ['"k"', "2"], "a bool that is neither 0 nor 1")
    bad("bool-array-255", with_key(ARRAY, struct.pack("<IQ", BOOL, 2) + b"\1\xff"), ['"k"', "255"],
        "a bool that is neither 0 nor 1")

    key = "general.alignment"
    for value in (0, 3, 4, 24, 2**30, MAX32):
        bad("alignment-%d" % value, small().set(key, U32, value), [key, str(value)],
            "want a power of two, at least 8, not absurd")
    bad("alignment-u64", small().set(key, U64, 32), [key, "u64", "u32"], "wrong type")
    bad("alignment-string", small().set(key, STRING, "32"), [key, "string", "u32"], "wrong type")
    bad("alignment-f32", small().set(key, F32T, 32.0), [key, "f32", "u32"], "wrong type")
    bad("architecture-u32", base().set("general.architecture", U32, 1),
        ["general.architecture", "u32", "string"], "wrong type")


def container_tensors(c):
    def bad(name, data, contains, note, code=3):
        c.case(name + ".gguf", data, "container", code, contains, note)

    def shaped(dims, kind=F32, offset=0, data=bytes(256)):
        g = small()
        g.tensors = [Tensor("t", [1], kind, data, offset)]
        g.tensors[0].dims = dims
        return g

    for name, dims, words in (
            ("dims-zero", [0, 4], ["dimension 0 is 0"]), ("dims-zero-last", [4, 0], ["dimension 1 is 0"]),
            ("dims-int64-max", [MAX_I64, 2, 1, 1], [str(MAX_I64)]),
            ("dims-negative", [2**63], [str(2**63)]), ("dims-minus-one", [MAX64], [str(MAX64)]),
            ("dims-product-wraps", [2**32, 2**32], [str(2**32)]),
            ("dims-product-wraps-small", [2**33, 2**31 + 1], [str(2**33)]),
            ("dims-bytes-wrap", [2**62], [str(2**62)]), ("dims-bytes-huge", [2**60], [str(2**62), "expected", "present"]),
            ("dims-five", [1] * 5, ["5 dimensions"])):
        bad(name, shaped(dims), ['"t"'] + words, "shape beyond what can be there")
    head = small().header()
    bad("dims-2e32", head[:-24] + struct.pack("<I", MAX32) + head[-20:], ['"t"', str(MAX32)],
        "number of dimensions")
    bad("dims-not-whole-blocks", shaped([33], Q4_0), ['"t"', "33", "q4_0", "32"],
        "rows must hold whole blocks")
    for kind, word in ((4, "q4_2"), (5, "q4_3"), (15, "q8_k"), (31, "q4_0_4_4"), (38, "iq4_nl_8_8"),
                       (9999, "9999"), (MAX32, str(MAX32))):
        bad("tensor-type-%d" % kind, shaped([256], kind), ['"t"', str(kind), word],
            "unknown, removed or internal type", 4)
    g = small()
    g.tensors.append(Tensor("t", [64]))
    bad("tensor-twice", g, ['"t"', "twice"], "duplicate tensor")
    g = small()
    g.tensors[0].name = ""
    bad("tensor-name-empty", g, ["tensor 0"], "a tensor without a name")
    g.tensors[0].name = "n" * 256
    bad("tensor-name-long", g, ["tensor 0", "256"], "longer than any writer makes")
    bad("tensor-name-max", small().header().replace(text("t"), struct.pack("<Q", MAX64) + b"t"),
        [str(MAX64)], "length of a tensor name")

    for name, offset, words in (
            ("offset-odd", 4, ["4", "32"]), ("offset-past-end", 1 << 20, [str(1 << 20), "present"]),
            ("offset-one-block-past", 32, ["expected", "present"]),
            ("offset-wraps", 2**64 - 256, ["expected", "present"]),
            ("offset-top", 2**64 - 32, ["expected", "present"]),
            ("offset-2e63", 2**63, ["expected", "present"])):
        bad(name, shaped([64], offset=offset), ['"t"'] + words, "a range that is not in the file")
    g = small()
    g.tensors = [Tensor("a", [64]), Tensor("b", [64], offset=32)]
    bad("tensors-overlap", g, ['"a"', '"b"'], "two tensors share bytes")

    whole = base().bytes()
    size = str(len(whole))
    bad("cut-one-byte", whole[:-1], ["cut-one-byte.gguf", size, str(len(whole) - 1)],
        "the last byte is missing: names the file, bytes expected and present")
    bad("cut-half", whole[:len(whole) // 2], ["cut-half.gguf", size, str(len(whole) // 2)],
        "half of the data is missing")
    table = len(base().header())
    bad("cut-before-data", whole[:table], [size, str(table)], "no data at all")
    bad("cut-in-table", whole[:table - 5], ["output.weight"], "ends inside the tensor table")
    bad("cut-in-vocabulary", whole[:3000], ["tokenizer.ggml.tokens"], "ends inside the metadata")


def container_legal(c):
    def good(name, data, note):
        c.case(name + ".gguf", data, "container", 0, [], note)

    good("legal-base", base(), "the model all the others are made from")
    g = base()
    g.version = 2
    good("legal-v2", g, "version 2 has the layout of version 3")
    g = base().set("general.alignment", U32, 64)
    g.alignment = 64
    good("legal-alignment-64", g, "another alignment")
    g = base().set("general.alignment", U32, 8)
    g.alignment = 8
    good("legal-alignment-8", g, "the smallest alignment")
    g = base().set("general.name", STRING, "").set("x.empty.strings", ARRAY, array(STRING, []))
    g.set("x.empty.numbers", ARRAY, array(F32T, [])).set("x.blank", ARRAY, array(STRING, ["", ""]))
    good("legal-empty-values", g, "empty strings and arrays")
    g = base()
    for kind, value in ((U8, 255), (I8, -1), (U16, 65535), (I16, -1), (U32, 1), (I32, -1),
                        (F32T, math.nan), (BOOL, 1), (STRING, "\0\n\u20ac"), (U64, MAX64), (I64, -1),
                        (F64T, math.inf)):
        g.set("x.scalar.%d" % kind, kind, value)
        g.set("x.array.%d" % kind, ARRAY, array(kind, [value] * 3))
    good("legal-all-types", g, "unknown keys of every type are kept and ignored")
    good("legal-long-key", base().set("k" * 65535, U8, 1), "the longest key name")
    good("legal-gap", _shifted(base(), 4096), "padding between the table and the data")
    good("legal-trailing-bytes", base().bytes() + b"more" * 100, "bytes after the last tensor")
    g = base()
    g.tensors.append(g.tensors.pop(0))
    good("legal-other-order", g, "tensors in another order than usual")
    g = base()
    g.tensors.append(g.tensors.pop(g.tensors.index(g.tensor("output_norm.weight"))))
    g.end_padding = False
    good("legal-no-end-padding", g, "nothing after the last tensor")
    os.symlink("legal-base.gguf", c.path("legal-link.gguf"))
    good("legal-link", None, "a symbolic link")


def _shifted(g, gap):
    """The file with `gap` unused bytes before the first tensor."""
    offset = gap
    for t in g.tensors:
        t.offset = offset
        offset += -(-len(t.data) // g.alignment) * g.alignment
    data = bytearray(g.header())
    data += bytes(-len(data) % g.alignment + gap)
    for t in g.tensors:
        data += t.data + bytes(-len(t.data) % g.alignment)
    return bytes(data)


def shards(change=None, counts=(3, 3, 3)):
    """The base model in three files; change(list of Gguf) may break them."""
    whole, out, place = base(), [], 0
    for no in range(3):
        g = whole.copy() if no == 0 else Gguf()
        g.tensors = whole.tensors[place:place + (7 if no < 2 else 99)]
        place += 7
        g.set("split.no", U16, no).set("split.count", U16, counts[no])
        g.set("split.tensors.count", I32, len(whole.tensors))
        out.append(g)
    if change:
        change(out)
    return out


def splits(c):
    name = "m-%05d-of-00003.gguf"

    def write(folder, files, names=None):
        names = names or [name % i for i in (1, 2, 3)]
        for file, file_name in zip(files, names):
            if file is not None:
                c.write(folder + "/" + file_name, file)

    def case(folder, given, code, contains, note, files=None, names=None):
        write(folder, files or shards(), names)
        c.case(folder + "/" + given, None, "container", code, contains, note)

    def change(edit):
        files = shards()
        edit(files)
        return files

    def bad(folder, contains, note, edit, given=name % 1, names=None):
        case(folder, given, 3, contains, note, change(edit), names)

    case("split-first", name % 1, 0, [], "given the first shard")
    case("split-second", name % 2, 0, [], "given the second shard")
    case("split-last", name % 3, 0, [], "given the last shard")
    write("split-link", shards())
    os.symlink(name % 2, c.path("split-link/model.gguf"))
    c.case("split-link/model.gguf", None, "container", 0, [], "a link to a shard, of another name")
    write("split-cache/blobs", shards(), ["aaaa", "bbbb", "cccc"])
    for i, blob in enumerate(("aaaa", "bbbb", "cccc"), 1):
        os.symlink("../blobs/" + blob, c.path("split-cache/snapshot/" + name % i))
    c.case("split-cache/snapshot/" + name % 1, None, "container", 0, [],
           "links with shard names to files without, as download caches make them")
    case("split-swapped", name % 1, 0, [], "names and split.no disagree, the set is whole", shards(),
         [name % 2, name % 1, name % 3])
    single = "one-00001-of-00013.gguf"
    c.case("split-one/" + single, base(), "container", 0, [], "not split, only named so")
    c.case("split-one/count-1-00002-of-00005.gguf", base().set("split.count", U16, 1), "container", 0,
           [], "split.count 1 is a single file")
    merged = base().set("split.count", U16, 0).set("split.no", U16, 0)
    c.case("split-one/merged.gguf", merged, "container", 0, [], "split.count 0 as merging leaves it")

    def lose(*gone):
        return lambda files: [files.__setitem__(i, None) for i in gone]

    bad("split-no-second", [name % 2], "the missing shard is listed by name", lose(1))
    bad("split-no-others", [name % 2, name % 3], "both missing shards are listed", lose(1, 2))
    bad("split-no-first", [name % 1], "given shard 2, the first is missing", lose(0), name % 2)
    bad("split-same-no", [name % 2, name % 3, "split.no", "1"], "two shards with one split.no",
        lambda f: f[2].set("split.no", U16, 1))
    bad("split-count-differs", [name % 3, "split.count", "4"], "a shard of another split",
        lambda f: f[2].set("split.count", U16, 4))
    bad("split-no-too-big", [name % 3, "split.no", "3"], "split.no counts from 0",
        lambda f: f[2].set("split.no", U16, 3))
    bad("split-no-absent", [name % 1, "split.no"], "split.count without split.no",
        lambda f: f[0].drop("split.no"))
    bad("split-not-a-shard", [name % 2], "a whole model under a shard's name",
        lambda f: f.__setitem__(1, base()))
    bad("split-total-wrong", ["split.tensors.count", "20", "21"], "total of tensors",
        lambda f: [g.set("split.tensors.count", I32, 20) for g in f])
    bad("split-tensor-in-two", [name % 2, "token_embd.weight"], "a tensor in two shards",
        lambda f: f[1].tensors.__setitem__(0, f[0].tensors[0]))
    bad("split-count-string", [name % 1, "split.count", "string"], "wrong type",
        lambda f: f[0].set("split.count", STRING, "3"))
    bad("split-no-negative", [name % 1, "split.no", "-1"], "a negative number",
        lambda f: f[0].set("split.no", I32, -1))
    bad("split-count-2e40", [name % 1, "split.count", str(2**40)], "an absurd number",
        lambda f: f[0].set("split.count", U64, 2**40))
    bad("split-count-65535", ["65535", "split.count"], "name and count disagree",
        lambda f: f[0].set("split.count", U16, 65535))
    bad("split-plain-name", ["a.gguf", "split.count"], "the siblings cannot be found by this name",
        lambda f: None, "a.gguf", ["a.gguf", "b.gguf", "c.gguf"])
    bad("split-name-00000", ["m-00000-of-00003.gguf"], "names count from 1", lambda f: None,
        "m-00000-of-00003.gguf", ["m-00000-of-00003.gguf", name % 1, name % 2])
    files = shards()
    case("split-cut-one-byte", name % 1, 3, [name % 2, "expected", "present"],
         "the second shard lacks its last byte", [files[0], files[1].bytes()[:-1], files[2]])
    case("split-garbage", name % 1, 3, [name % 3, "GGUF"], "the last shard is not GGUF",
         [files[0], files[1], b"garbage garbage garbage"])
    write("split-directory", [files[0], None, files[2]])
    os.makedirs(c.path("split-directory/" + name % 2))
    c.case("split-directory/" + name % 1, None, "container", 3, [name % 2, "directory"],
           "a directory in place of a shard")


def model_keys(c):
    def case(name, data, contains, note, code=3):
        c.case("model-" + name + ".gguf", data, "model", code, contains, note)

    def value(name, key, kind, seen, note, code=3, word=None):
        words = [key] + ([] if word == "" else [str(seen) if word is None else word])
        case(name, base().set(key, kind, seen), words if code else [], note, code)

    def absent(name, key):
        case(name, base().drop(key), [key], "a required key is missing")

    absent("no-architecture", "general.architecture")
    value("unknown-architecture", "general.architecture", STRING, "nosucharch", "not known", 4)
    blocks = L + "block_count"
    value("blocks-4-billion", blocks, U32, MAX32, "nothing of this size may be allocated")
    value("blocks-513", blocks, U32, 513, "more than 512 layers, and no tensors for them")
    value("blocks-0", blocks, U32, 0, "no layers")
    value("blocks-negative", blocks, I32, -1, "a negative number")
    value("blocks-string", blocks, STRING, "2", "wrong type", word="string")
    value("blocks-f32", blocks, F32T, 2.0, "wrong type", word="f32")
    absent("blocks-absent", blocks)
    case("blocks-3", base().set(blocks, U32, 3), ["blk.2."], "tensors of the third layer are missing")
    for key in ("embedding_length", "attention.head_count", "feed_forward_length",
                "context_length"):
        name = key.replace("attention.", "")
        value(name + "-0", L + key, U32, 0, "a division by zero, or nothing")
        absent(name + "-absent", L + key)
    for key in ("embedding_length", "attention.head_count", "feed_forward_length"):
        case(key.replace("attention.", "") + "-max", base().set(L + key, U32, MAX32), [],
             "far larger than the tensors: nothing of this size may be allocated")
    case("embedding_length-64", base().set(L + "embedding_length", U32, 64), ["token_embd.weight"],
         "tensors are 32 wide")
    heads, kv = L + "attention.head_count", L + "attention.head_count_kv"
    value("heads-3", heads, U32, 3, "32 is not a multiple of 3, and there is no key_length")
    value("kv-heads-0", kv, U32, 0, "a division by zero")
    value("kv-heads-3", kv, U32, 3, "2 heads cannot share 3")
    case("heads-array-short", base().set(heads, ARRAY, array(U32, [2])), [heads],
         "one value for two layers")
    case("heads-array-zero", base().set(heads, ARRAY, array(U32, [2, 0])), [heads],
         "no heads in a layer that has attention")
    value("key_length-0", L + "attention.key_length", U32, 0, "head size 0")
    value("rope-dims-odd", L + "rope.dimension_count", U32, 7, "RoPE turns pairs")
    value("rope-dims-wide", L + "rope.dimension_count", U32, 1000, "more than the head has")
    epsilon, freq = L + "attention.layer_norm_rms_epsilon", L + "rope.freq_base"
    for label, number in (("negative", -1.0), ("nan", math.nan), ("inf", math.inf)):
        value("epsilon-" + label, epsilon, F32T, number, "want a small positive number", word="")
        value("freq-base-" + label, freq, F32T, number, "want a positive number", word="")
    value("freq-base-0", freq, F32T, 0.0, "want a positive number", word="")
    value("freq-base-string", freq, STRING, "10000", "wrong type", word="string")
    absent("epsilon-absent", epsilon)
    case("rope-scaling-nan", base().set(L + "rope.scaling.type", STRING, "linear")
         .set(L + "rope.scaling.factor", F32T, math.nan), [L + "rope.scaling.factor"], "not a number")
    value("rope-scaling-unknown", L + "rope.scaling.type", STRING, "nosuchscaling", "not known", 4)
    experts, used = L + "expert_count", L + "expert_used_count"
    case("experts-no-tensors", base().set(experts, U32, 4).set(used, U32, 2), ["blk.0.ffn_gate_inp.weight"],
         "experts are announced, but there are none")
    case("experts-used-more", base().set(experts, U32, 4).set(used, U32, 5), [used, "5", "4"],
         "more are used than there are")
    case("experts-4-billion", base().set(experts, U32, MAX32).set(used, U32, 2), [experts],
         "nothing of this size may be allocated")

    value("legal-u64", blocks, U64, 2, "integers of any width", 0)
    case("legal-arrays", base().set(heads, ARRAY, array(I32, [2, 2]))
         .set(kv, ARRAY, array(U32, [2, 2])).set(L + "feed_forward_length", ARRAY,
                                                  array(U32, [FF, FF])), [],
         "one value per layer", 0)
    case("legal-no-kv-heads", base().drop(kv), [], "as many as heads", 0)
    case("legal-experts-0", base().set(experts, U32, 0).set(used, U32, 0), [],
         "a dense model that says so", 0)
    case("legal-experts-used-array", base().set(experts, U32, 0)
         .set(used, ARRAY, array(U32, [0, 0])), [], "zeros per layer in a dense model", 0)
    case("legal-tied", base().drop_tensor("output.weight"), [], "output is the embedding", 0)


def model_tensors(c):
    def case(name, data, contains, note, code=3):
        c.case("model-" + name + ".gguf", data, "model", code, contains, note)

    for name in ("token_embd", "output_norm", "blk.0.attn_norm", "blk.1.ffn_down"):
        case("no-" + name, base().drop_tensor(name + ".weight"), [name + ".weight"],
             "a required tensor is missing")
    g = base()
    g.tensors = []
    case("vocabulary-only", g, ["token_embd.weight"], "a header without tensors opens as a container")
    for name, dims in (("blk.0.attn_q", [EMBD, EMBD - 1]), ("blk.0.attn_q", [EMBD // 2, EMBD * 2]),
                       ("blk.1.attn_norm", [EMBD - 1]), ("blk.1.attn_norm", [EMBD * 2]),
                       ("output_norm", [1]), ("blk.0.ffn_down", [EMBD, FF]),
                       ("token_embd", [EMBD, VOCAB - 1]), ("output", [EMBD, VOCAB + 1]),
                       ("blk.0.attn_k", [EMBD, EMBD, 2])):
        shape = "x".join(map(str, dims))
        case("shape-%s-%s" % (name, shape), base().replace(name + ".weight", dims),
             [name + ".weight"], "wrong shape")
    case("weight-i32", base().replace("blk.0.attn_q.weight", [EMBD, EMBD], I32_TENSOR,
                                      bytes(EMBD * EMBD * 4)), ["blk.0.attn_q.weight", "i32"],
         "a weight of integers", 4)


def tokenizer(c):
    rows = spm_vocabulary()
    tokens, scores, types = ([r[i] for r in rows] for i in range(3))

    def case(name, data, contains, note, code=3):
        c.case("vocab-" + name + ".gguf", data, "tokenizer", code, contains, note)

    def key(name, which, kind, value, contains, note, code=3, start=base):
        words = [T + which] + contains if code else []
        case(name, start().set(T + which, kind, value), words, note, code)

    key("types-u8", "token_type", ARRAY, array(U8, types), ["u8"], "read as i32 it overruns")
    key("types-short", "token_type", ARRAY, array(I32, types[:-1]), ["299", "300"], "one is missing")
    key("types-strings", "token_type", ARRAY, array(STRING, ["1"] * VOCAB), ["string"], "wrong type")
    key("types-99", "token_type", ARRAY, array(I32, types[:-1] + [99]), ["99"], "no such kind")
    key("types-negative", "token_type", ARRAY, array(I32, types[:-1] + [-1]), ["-1"], "no such kind")
    key("types-scalar", "token_type", I32, 1, ["i32"], "not an array")
    key("scores-short", "scores", ARRAY, array(F32T, scores[:-1]), ["299", "300"], "one is missing")
    key("scores-long", "scores", ARRAY, array(F32T, scores + [0.0]), ["301", "300"], "one too many")
    key("scores-strings", "scores", ARRAY, array(STRING, ["0"] * VOCAB), ["string"], "wrong type")
    key("scores-nan", "scores", ARRAY, array(F32T, scores[:-1] + [math.nan]), [], "cannot be ordered")
    for name, token in (("minus-1", "<0x-1>"), ("100", "<0x100>"), ("zz", "<0xZZ>"), ("open", "<0x41")):
        key("byte-" + name, "tokens", ARRAY, array(STRING, tokens[:5] + [token] + tokens[6:]),
            [token], "a byte token that is no byte")
    key("tokens-i32", "tokens", ARRAY, array(I32, [0] * VOCAB), ["i32"], "wrong type")
    key("tokens-string", "tokens", STRING, "a", ["string"], "not an array")
    key("tokens-none", "tokens", ARRAY, array(STRING, []), [], "an empty vocabulary")
    for name in ("tokens", "model"):
        case("no-" + name, base().drop(T + name), [T + name], "a required key is missing")
    key("model-u32", "model", U32, 1, ["u32"], "wrong type")
    key("model-unknown", "model", STRING, "nosuchmodel", ["nosuchmodel"], "not known", 4)
    key("pre-unknown", "pre", STRING, "nosuchpre", ["nosuchpre"], "not known", 4, bpe_base)
    key("merges-i32", "merges", ARRAY, array(I32, [1, 2]), ["i32"], "wrong type", 3, bpe_base)
    key("merges-string", "merges", STRING, "t h", ["string"], "not an array", 3, bpe_base)
    key("merges-no-space", "merges", ARRAY, array(STRING, ["t h", "he"]), ["he"],
        "a merge has two parts", 3, bpe_base)
    key("eos-300", "eos_token_id", U32, VOCAB, [str(VOCAB)], "outside the vocabulary")
    key("eos-max", "eos_token_id", U32, MAX32, [str(MAX32)], "outside the vocabulary")
    key("bos-2e63", "bos_token_id", U64, 2**63, [str(2**63)], "outside the vocabulary")
    key("unk-negative", "unknown_token_id", I32, -1, ["-1"], "a negative number")
    key("eos-string", "eos_token_id", STRING, "</s>", ["string"], "wrong type")
    key("add-bos-string", "add_bos_token", STRING, "true", ["string"], "wrong type")

    key("legal-types-u32", "token_type", ARRAY, array(U32, types), [], "integers of any width", 0)
    case("legal-bpe", bpe_base(), [], "byte-level BPE", 0)
    key("legal-no-merges", "merges", ARRAY, array(STRING, []), [], "a zero-length array", 0, bpe_base)
    case("legal-empty-token",
         base().set(T + "tokens", ARRAY, array(STRING, tokens[:-1] + [""]))
         .set(T + "token_type", ARRAY, array(I32, types[:-1] + [5])), [], "an empty, unused token", 0)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1].strip())
    corpus = Corpus(sys.argv[1])
    for group in (container_files, container_metadata, container_tensors, container_legal, splits,
                  model_keys, model_tensors, tokenizer):
        group(corpus)
    names = [row["file"] for row in corpus.index]
    assert len(set(names)) == len(names), "two cases with one name"
    with open(os.path.join(corpus.folder, "index.json"), "w") as out:
        json.dump(corpus.index, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
