"""Writes tests/data/hf_tokenizers: small tokenizer.json files, each with what Hugging Face's library makes of some texts.

    python make_hf_tokenizers.py TEXT_FILE...     (needs: tokenizers; run in tests/data)

The TEXT_FILEs are what the merges are learnt from. Each output is {"oracle", "tokenizer": the whole tokenizer.json, "cases":
[{"text", "ids": special tokens in the text are parsed, none added, "with_special": the ids with those added}]}.
"""
import glob, json, sys
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
MARK = "\u2581"
SPACES = normalizers.Replace(" ", MARK)
TEXTS = open(sys.argv[1], encoding="utf-8").read(), [open(p, encoding="utf-8").read() for p in sys.argv[2:]]
CORPUS = [line for text in [TEXTS[0], *TEXTS[1]] for line in text.splitlines(keepends=True)]


def learn(normalizer, pre_tokenizer, size, alphabet):
    tok = Tokenizer(models.BPE())
    tok.normalizer, tok.pre_tokenizer = normalizer, pre_tokenizer
    tok.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False))
    return json.loads(tok.to_str())["model"]


def byte_level(pre, size=420, ignore_merges=False, normalizer=None, bos=False, added=()):
    learnt = learn(normalizer, pre, size, pre_tokenizers.ByteLevel.alphabet())
    model = models.BPE(vocab=learnt["vocab"], merges=[tuple(m) for m in learnt["merges"]], ignore_merges=ignore_merges)
    tok = Tokenizer(model)
    tok.normalizer, tok.pre_tokenizer, tok.decoder = normalizer, pre, decoders.ByteLevel()
    tok.add_special_tokens([AddedToken("<|begin|>", special=True), AddedToken("<|end|>", special=True)])
    tok.add_tokens(list(added))
    if bos:
        tok.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single="<|begin|> $A", pair="<|begin|> $A $B", special_tokens=[("<|begin|>", tok.token_to_id("<|begin|>"))])])
    return tok


def marked(normalizer, pre, size=420, specials=("<unk>", "<s>", "</s>"), eos=False, added=()):
    learn_pre = pre_tokenizers.Split(MARK, "merged_with_next")  # words, so that merges are worth having
    learnt = learn(SPACES if normalizer is None else normalizer, learn_pre, size, [])
    pieces = [*specials, *(f"<0x{b:02X}>" for b in range(256))]
    pieces += [p for p in learnt["vocab"] if p not in pieces]
    vocab = {p: i for i, p in enumerate(pieces)}
    # As the converters of SentencePiece models do it: every pair of pieces that make a piece, by the rank of that.
    rank = {}
    for l, r in (tuple(m) for m in learnt["merges"]):
        rank.setdefault(l + r, len(rank))
    merges = []
    for whole in sorted(rank, key=rank.get):
        splits = [(whole[:i], whole[i:]) for i in range(1, len(whole)) if whole[:i] in vocab and whole[i:] in vocab]
        merges += sorted(splits, key=lambda s: (vocab[s[0]], vocab[s[1]]))
    tok = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer, tok.pre_tokenizer = normalizer, pre
    tok.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    tok.add_tokens(list(added))
    b = specials[1]
    tok.post_processor = processors.TemplateProcessing(
        single=f"{b} $A" + (f" {specials[2]}" if eos else ""), pair=f"{b} $A $B",
        special_tokens=[(s, vocab[s]) for s in specials[1:]])
    return tok


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
ALL = {
    "llama3": byte_level(pre_tokenizers.Sequence([split(LLAMA3), BYTES]), ignore_merges=True, bos=True,
                         added=[AddedToken("<strip>", lstrip=True, rstrip=True, special=True)]),
    "qwen2": byte_level(pre_tokenizers.Sequence([split(QWEN2), BYTES]), normalizer=normalizers.NFC(),
                        added=[AddedToken("<tool>", special=False)]),
    "gpt2": byte_level(GPT2),
    "digits": byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), GPT2])),
    "steps": byte_level(pre_tokenizers.Sequence([split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), pre_tokenizers.Punctuation("isolated"), BYTES])),
    "gemma": marked(SPACES, pre_tokenizers.Split(" ", "merged_with_previous"), specials=("<unk>", "<bos>", "<eos>"),
                    added=[AddedToken(t, normalized=False, special=False) for t in ("\t\t", "\t\t\t", "\n\n", "<start_of_turn>")]),
    "llama2": marked(normalizers.Sequence([normalizers.Prepend(MARK), SPACES]), None),
    "metaspace": marked(None, pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="never", split=True), eos=True),
}
CASES = sorted({c["text"] for p in sorted(glob.glob("tokenizers/*.json")) for c in json.load(open(p))["cases"]})
CASES += ["", "a", "<|begin|>hi<|end|> there", "x  <strip>  y", "a<tool>b <tool>", "\t\t\t\t\tq", "a\n\n\nb", "<start_of_turn>user\nhi",
          "<s>x</s> y", "<bos><bos>", "12345 1 23 456 7890", "日本語とかな、漢字。", "it's we'LL I'd", "naïve café 😀 \u00a0 x", "a\r\nb \r\n c", MARK + "x" + MARK]
for name, tok in ALL.items():
    cases = [dict(text=t, ids=tok.encode(t, add_special_tokens=False).ids, with_special=tok.encode(t).ids) for t in CASES]
    data = dict(oracle=f"tokenizers {tokenizers.__version__}", tokenizer=json.loads(tok.to_str()), cases=cases)
    json.dump(data, open(f"hf_tokenizers/{name}.json", "w"), ensure_ascii=True, separators=(",", ":"))
