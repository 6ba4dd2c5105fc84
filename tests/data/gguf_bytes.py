"""Writes GGUF files byte by byte, wrong ones included, and a small legal llama model to start from.

Standard library only. Source of the format: the GGUF specification.
"""
import copy
import struct

U8, I8, U16, I16, U32, I32, F32T, BOOL, STRING, ARRAY, U64, I64, F64T = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32T: "f", BOOL: "B", U64: "Q",
           I64: "q", F64T: "d"}
F32, F16, Q4_0, I32_TENSOR = 0, 1, 2, 26


class Raw(bytes):
    """Bytes written as they are in place of a value."""


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def scalar(kind, value):
    return text(value) if kind == STRING else struct.pack("<" + FORMATS[kind], value)


def array(kind, values):
    """The value of an array key: (ARRAY, array(kind, values))."""
    return Raw(struct.pack("<IQ", kind, len(values)) + b"".join(scalar(kind, v) for v in values))


def numbers(count):
    """count f32 values as bytes, the same every time, about +-0.1."""
    block = [((i * 7919) % 251 - 125) / 1000 for i in range(251)]
    return struct.pack("<%df" % count, *(block[i % 251] for i in range(count)))


class Tensor:
    def __init__(self, name, dims, kind=F32, data=None, offset=None):
        self.name, self.dims, self.kind, self.offset = name, list(dims), kind, offset
        count = 1
        for dim in dims:
            count *= dim
        self.data = numbers(count) if data is None else data


class Gguf:
    """A file in the making; every field may be set to something wrong."""

    def __init__(self):
        self.magic, self.version, self.alignment = b"GGUF", 3, 32
        self.keys = []  # [name, kind, value]
        self.tensors = []
        self.key_count = self.tensor_count = None  # None: the true one
        self.end_padding = True

    def copy(self):
        return copy.deepcopy(self)

    def set(self, name, kind, value):
        """Replaces the value of a key, or adds the key."""
        for key in self.keys:
            if key[0] == name:
                key[1:] = [kind, value]
                return self
        self.keys.append([name, kind, value])
        return self

    def drop(self, name):
        self.keys = [key for key in self.keys if key[0] != name]
        return self

    def add(self, name, kind, value):
        """Appends a key even when it is there already."""
        self.keys.append([name, kind, value])
        return self

    def tensor(self, name):
        return next(t for t in self.tensors if t.name == name)

    def drop_tensor(self, name):
        self.tensors = [t for t in self.tensors if t.name != name]
        return self

    def replace(self, name, dims, kind=F32, data=None):
        place = self.tensors.index(self.tensor(name))
        self.tensors[place] = Tensor(name, dims, kind, data)
        return self

    def header(self):
        count = len(self.tensors) if self.tensor_count is None else self.tensor_count
        keys = len(self.keys) if self.key_count is None else self.key_count
        out = [self.magic, struct.pack("<IQQ", self.version, count, keys)]
        for name, kind, value in self.keys:
            out += [text(name), struct.pack("<I", kind)]
            out.append(value if isinstance(value, Raw) else scalar(kind, value))
        offset = 0
        for t in self.tensors:
            out += [text(t.name), struct.pack("<I", len(t.dims))]
            out += [struct.pack("<Q", dim) for dim in t.dims]
            out.append(struct.pack("<IQ", t.kind, offset if t.offset is None else t.offset))
            offset += -(-len(t.data) // self.alignment) * self.alignment
        return b"".join(out)

    def bytes(self):
        data = bytearray(self.header())
        if self.tensors:
            data += bytes(-len(data) % self.alignment)
        for t in self.tensors:
            data += t.data
            if self.end_padding or t is not self.tensors[-1]:
                data += bytes(-len(t.data) % self.alignment)
        return bytes(data)


VOCAB = 300
EMBD, HEADS, FF, LAYERS = 32, 2, 64, 2


def spm_vocabulary():
    """[text, score, type] of 300 tokens: unknown, two controls, 256 bytes, 41 pieces."""
    rows = [["<unk>", 0.0, 2], ["<s>", 0.0, 3], ["</s>", 0.0, 3]]
    rows += [["<0x%02X>" % i, 0.0, 6] for i in range(256)]
    pieces = ["\u2581the", "\u2581a", "\u2581t", "th", "he", "\u2581th", "in", "er", "an", "on",
              "re", "at", "en", "nd"]
    pieces += ["\u2581"] + [chr(c) for c in range(ord("a"), ord("z") + 1)]
    return rows + [[piece, -1.0 - i, 1] for i, piece in enumerate(pieces)]


def base():
    """A complete llama model: F32, 32 wide, 2 layers, 2 heads, 300 tokens."""
    g = Gguf()
    g.set("general.architecture", STRING, "llama")
    g.set("general.name", STRING, "broken-corpus base")
    for name, value in (("context_length", 128), ("embedding_length", EMBD),
                        ("block_count", LAYERS), ("feed_forward_length", FF),
                        ("attention.head_count", HEADS), ("attention.head_count_kv", HEADS),
                        ("rope.dimension_count", EMBD // HEADS)):
        g.set("llama." + name, U32, value)
    g.set("llama.attention.layer_norm_rms_epsilon", F32T, 1e-5)
    g.set("llama.rope.freq_base", F32T, 10000.0)
    g.set("llama.vocab_size", U32, VOCAB)
    rows = spm_vocabulary()
    g.set("tokenizer.ggml.model", STRING, "llama")
    g.set("tokenizer.ggml.tokens", ARRAY, array(STRING, [r[0] for r in rows]))
    g.set("tokenizer.ggml.scores", ARRAY, array(F32T, [r[1] for r in rows]))
    g.set("tokenizer.ggml.token_type", ARRAY, array(I32, [r[2] for r in rows]))
    for name, value in (("unknown", 0), ("bos", 1), ("eos", 2)):
        g.set("tokenizer.ggml.%s_token_id" % name, U32, value)
    g.set("tokenizer.ggml.add_bos_token", BOOL, 1)
    g.set("tokenizer.ggml.add_eos_token", BOOL, 0)

    g.tensors.append(Tensor("token_embd.weight", [EMBD, VOCAB]))
    for layer in range(LAYERS):
        for name, dims in (("attn_norm", [EMBD]), ("attn_q", [EMBD, EMBD]),
                           ("attn_k", [EMBD, EMBD]), ("attn_v", [EMBD, EMBD]),
                           ("attn_output", [EMBD, EMBD]), ("ffn_norm", [EMBD]),
                           ("ffn_gate", [EMBD, FF]), ("ffn_up", [EMBD, FF]),
                           ("ffn_down", [FF, EMBD])):
            g.tensors.append(Tensor("blk.%d.%s.weight" % (layer, name), dims))
    g.tensors.append(Tensor("output_norm.weight", [EMBD]))
    g.tensors.append(Tensor("output.weight", [EMBD, VOCAB]))
    return g


def byte_characters():
    """The 256 characters by which byte-level BPE writes bytes, by byte."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    out, extra = {}, 0
    for byte in range(256):
        if byte in plain:
            out[byte] = chr(byte)
        else:
            out[byte] = chr(256 + extra)
            extra += 1
    return [out[b] for b in range(256)]


def bpe_base():
    """The same model with a byte-level BPE vocabulary: 256 bytes, 43 merges, one control."""
    g = base()
    pairs = [("t", "h"), ("h", "e"), ("\u0120", "t"), ("\u0120t", "he"), ("i", "n"), ("e", "r"),
             ("a", "n"), ("o", "n")]
    pairs += [("\u0120", c) for c in "abcdefghijklmnopqrsuvwxyz"]
    pairs += [("r", "e"), ("a", "t"), ("e", "n"), ("n", "d"), ("t", "i"), ("e", "s"), ("o", "r"),
              ("t", "e"), ("o", "f"), ("e", "d")]
    tokens = byte_characters() + [a + b for a, b in pairs] + ["<|endoftext|>"]
    assert len(tokens) == VOCAB and len(set(tokens)) == VOCAB
    g.set("tokenizer.ggml.model", STRING, "gpt2")
    g.set("tokenizer.ggml.pre", STRING, "gpt-2")
    g.set("tokenizer.ggml.tokens", ARRAY, array(STRING, tokens))
    g.set("tokenizer.ggml.token_type", ARRAY, array(I32, [1] * (VOCAB - 1) + [3]))
    g.set("tokenizer.ggml.merges", ARRAY, array(STRING, [a + " " + b for a, b in pairs]))
    g.drop("tokenizer.ggml.scores").drop("tokenizer.ggml.unknown_token_id")
    for name in ("bos", "eos"):
        g.set("tokenizer.ggml.%s_token_id" % name, U32, VOCAB - 1)
    g.set("tokenizer.ggml.add_bos_token", BOOL, 0)
    return g
