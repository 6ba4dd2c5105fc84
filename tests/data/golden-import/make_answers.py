#!/usr/bin/env python3
"""Asks other programs, greedily, and keeps what they answer: the samples of vt-golden import.

    make_answers.py llama-server URL   a llama-server that runs SmolLM2-135M-Instruct.Q4_1.gguf
    make_answers.py hf LLAMA_DENSE     transformers, on the tiny llama-dense.gguf of the tests (needs
                                       torch, transformers, gguf, accelerate)
    make_answers.py hf-folder GGUF DIR dequantises a model into a folder, for vLLM
    make_answers.py vllm URL           a vLLM server that runs that folder as "smollm2"
    make_answers.py vllm-offline DIR   vLLM's own objects (needs vllm)

Files go to the folder of this script; README.md says which program made them. An answer is kept as
it came, with its request: {"name", "request", "response"}. Those named bad-* are mistakes that
people make.
"""
import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

OUT = Path(__file__).parent
GREEDY = {"temperature": 0, "seed": 1}
FRANCE = "The capital of France is"
SUM_TEXT = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"
)
SUM = [{"role": "user", "content": "What is 2+2?"}]
MESSAGES = [
    {"role": "system", "content": "Answer in one word."},
    {"role": "user", "content": "Which planet is the largest?"},
]
HELLO = [{"role": "user", "content": "Write hello in French."}]
EMOJI = "🦊 🐻 🐼 🦊 🐻 🐼 🦊 🐻"


def post(url, request):
    data = urllib.request.Request(
        url, json.dumps(request).encode(), {"Content-Type": "application/json"}
    )
    try:
        return urllib.request.urlopen(data, timeout=600).read().decode()
    except urllib.error.HTTPError as error:  # an answer too
        return error.read().decode()


def keep(name, value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) + "\n"
    (OUT / name).write_text(text, encoding="utf-8")
    print(name, len(text))


def wrapped(url, name, request):
    return {"name": name, "request": request, "response": json.loads(post(url, request))}


def llama_server(url):
    own = {**GREEDY, "n_predict": 8, "n_probs": 5, "return_tokens": True, "cache_prompt": False}
    completion = url + "/completion"
    ids = json.loads(post(url + "/tokenize", {"content": FRANCE}))["tokens"]
    lines = [
        wrapped(completion, "text", {**own, "prompt": FRANCE}),
        wrapped(completion, "special-text-to-the-end", {**own, "prompt": SUM_TEXT, "n_predict": 32}),
        wrapped(completion, "ids", {**own, "prompt": ids}),
        wrapped(completion, "ids-and-text", {**own, "prompt": [*ids[:2], " of Spain is"]}),
        wrapped(completion, "two-prompts", {**own, "prompt": [FRANCE, "1, 2, 3, 4,"], "n_predict": 3}),
    ]
    keep("llama-server.jsonl", "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines))
    openai = {**GREEDY, "max_tokens": 8, "cache_prompt": False}
    chat = url + "/v1/chat/completions"
    asked = {**openai, "messages": MESSAGES, "logprobs": True, "top_logprobs": 5}
    lines = [
        wrapped(url + "/v1/completions", "completions", {**openai, "prompt": FRANCE, "logprobs": 5}),
        wrapped(chat, "chat", asked),
        wrapped(chat, "chat-to-the-end", {**asked, "messages": SUM, "max_tokens": 32, "top_logprobs": 2}),
    ]
    keep("llama-server-openai.jsonl", "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines))
    short = {**own, "prompt": FRANCE, "n_predict": 2}
    keep("bad-stream.txt", post(completion, {**short, "stream": True}))
    keep("bad-post-sampling.json", wrapped(completion, "x", {**short, "post_sampling_probs": True}))
    keep("bad-sampled.json", wrapped(completion, "x", {**short, "n_predict": 12, "temperature": 1.5}))
    keep("bad-no-logprobs.json", wrapped(completion, "x", {**short, "n_probs": 0}))
    keep("bad-chat-no-logprobs.json", wrapped(chat, "x", {**openai, "messages": MESSAGES}))
    parts = {"prompt": EMOJI, "n_predict": 3, "n_probs": 2}
    keep("bad-parts-llama-server.json", wrapped(completion, "x", {**own, **parts}))
    keep("bad-parts-openai.json", wrapped(url + "/v1/completions", "x", {**GREEDY, **parts}))
    keep("bad-two-choices.json", wrapped(chat, "x", {**asked, "max_tokens": 2, "n": 2}))
    keep("bad-error.json", wrapped(chat, "x", {"messages": "hello"}))


def hf(path):
    import torch
    from transformers import AutoModelForCausalLM

    path = Path(path)
    model = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32, attention_bias=True, mlp_bias=True
    )
    model.generation_config.eos_token_id = None
    lines = []
    for name, prompt in {"short": [42, 17, 20, 51, 84, 7], "long": list(range(3, 60))}.items():
        answer = model.generate(
            torch.tensor([prompt]), do_sample=False, max_new_tokens=4, return_dict_in_generate=True,
            output_logits=True, output_scores=True,
        )
        one = {"name": name, "input_ids": [prompt], "sequences": answer.sequences.tolist()}
        rows = answer.logits if name == "short" else answer.scores
        one["logits" if name == "short" else "scores"] = [row.tolist() for row in rows]
        lines.append(json.dumps(one) + "\n")
    keep("hf.jsonl", "".join(lines))


def hf_folder(path, folder):
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = Path(path)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    tied = model.config.tie_word_embeddings
    weights = {k: v for k, v in model.state_dict().items() if not (tied and k == "lm_head.weight")}
    save_file(weights, Path(folder) / "model.safetensors", metadata={"format": "pt"})
    config = model.config.to_dict()
    del config["quantization_config"]
    config["architectures"] = [type(model).__name__]
    (Path(folder) / "config.json").write_text(json.dumps(config))
    AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(folder)


def vllm(url):
    text = {**GREEDY, "model": "smollm2", "max_tokens": 8}
    chat = {**text, "messages": MESSAGES, "logprobs": True, "top_logprobs": 5}
    completions, chats = url + "/v1/completions", url + "/v1/chat/completions"
    ids = {"return_token_ids": True, "return_tokens_as_token_ids": True}
    lines = [
        wrapped(completions, "token-ids", {**text, **ids, "prompt": FRANCE, "logprobs": 5, "prompt_logprobs": 3}),
        wrapped(completions, "texts", {**text, "prompt": FRANCE, "logprobs": 5}),
        wrapped(completions, "echo", {**text, "prompt": FRANCE, "logprobs": 5, "echo": True}),
        wrapped(completions, "two-prompts", {**text, **ids, "prompt": [FRANCE, "1, 2, 3, 4,"], "max_tokens": 3, "logprobs": 5}),
        wrapped(chats, "chat-token-ids", {**chat, **ids}),
        wrapped(chats, "chat-as-token-ids", {**chat, "return_tokens_as_token_ids": True, "max_tokens": 3}),
        wrapped(chats, "chat-texts-to-the-end", {**chat, "messages": HELLO, "max_tokens": 32, "top_logprobs": 2}),
    ]
    keep("vllm.jsonl", "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines))
    parts = {**text, "prompt": EMOJI, "max_tokens": 2, "logprobs": 3, "return_token_ids": True}
    keep("bad-parts-vllm.json", wrapped(completions, "x", parts))


def vllm_offline(folder):
    import dataclasses

    from vllm import LLM, SamplingParams

    model = LLM(folder, dtype="float32", max_model_len=512, enforce_eager=True)
    params = SamplingParams(temperature=0, seed=1, max_tokens=8, logprobs=5, prompt_logprobs=3)
    answer = model.generate([FRANCE], params)[0]

    def plain(value):
        return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else str(value)

    keep("vllm-offline.json", json.dumps(vars(answer), default=plain, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    globals()[command.replace("-", "_")](*arguments)
