// The tokenizer and the chat template of a Hugging Face folder as GGUF metadata.
//
// Byte-pair encodings are translated: byte-level ones to tokenizer.ggml.model "gpt2", those of text
// with U+2581 for spaces and byte fallback to "gemma4" or, where a space is put in front, "llama"
// with the ranks of merges as scores. What GGUF has no key for:
//   tokenizer.vt.split_patterns  strings: the cuts before merging, one after the other, in place of
//                                tokenizer.ggml.pre; empty: the text is not cut
//   tokenizer.vt.ignore_merges   bool: a word that is a token is that token
//   tokenizer.vt.strip_left_ids, tokenizer.vt.strip_right_ids
//                                i32: special tokens that eat the white space before and after them
//   tokenizer.vt.end_token_ids   i32: eos_token_id of generation_config.json and config.json
//   tokenizer.vt.unsupported     string: why there is no tokenizer that could be used
// Source: the serialisation of huggingface/tokenizers (tokenizer.json).
#pragma once

#include <string>

#include "formats/hf_config.h"
#include "formats/hf_metadata.h"
#include "formats/mapped_file.h"
#include "formats/text_arena.h"
#include "vt/status.h"

namespace vt {

// Null where the folder has no such file.
struct HfTokenizerFiles {
  std::string folder;
  const MappedFile* tokenizer = nullptr;          // tokenizer.json
  const MappedFile* tokenizer_config = nullptr;   // tokenizer_config.json
  const MappedFile* generation_config = nullptr;  // generation_config.json
  const MappedFile* chat_template = nullptr;      // chat_template.jinja
};

// `config`: config.json, for vocab_size: tokens beyond it have no embedding and are left out, ids
// without a token become unused ones. kCorrupt names the file that is damaged; a tokenizer of
// another kind is no error but tokenizer.vt.unsupported.
Status AddHfTokenizer(const HfTokenizerFiles& files, const HfConfig& config, TextArena& texts,
                      HfMetadata& out);

}  // namespace vt
