#include "formats/tokenizer/pre_rules.h"

#include <algorithm>
#include <vector>

namespace vt::tok {
namespace {

// Parts that many patterns share.
#define VT_CONTRACTION R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define VT_WORD R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define VT_SYMBOLS R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"
#define VT_SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define VT_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define VT_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define VT_LEAD R"([^\r\n\p{L}\p{N}]?)"
#define VT_CASED(SUFFIX) \
  VT_LEAD VT_UPPER "*" VT_LOWER "+" SUFFIX "|" VT_LEAD VT_UPPER "+" VT_LOWER "*" SUFFIX
#define VT_SYMBOLS_SLASH R"( ?[^\s\p{L}\p{N}]+[\r\n/]*)"
// The same classes without Han: what is left out is listed, since classes have no intersection.
#define VT_UPPER_NOT_HAN R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define VT_LOWER_NOT_HAN R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"

#define VT_GPT2 R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))"
#define VT_QWEN2 VT_CONTRACTION "|" VT_WORD R"(|\p{N}|)" VT_SYMBOLS "|" VT_SPACES
#define VT_ASCII_WORD R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)"
#define VT_KANJI_KANA R"([一-龥぀-ゟ゠-ヿ]+)"

constexpr PreStep kDefault[] = {
    {R"([\p{P}\$\+<=>\^~\|]+)"}, {VT_GPT2}, {R"(\p{N}+)"}, {"[0-9][0-9][0-9]"}};
constexpr PreStep kGpt2[] = {{VT_GPT2}};
constexpr PreStep kStarcoder[] = {{R"(\p{N})"}, {VT_GPT2}};
constexpr PreStep kFalcon[] = {{R"([\p{P}\$\+<=>\^~\|`]+)"}, {VT_GPT2}, {"[0-9][0-9][0-9]"}};
constexpr PreStep kLlama3[] = {
    {VT_CONTRACTION "|" VT_WORD R"(|\p{N}{1,3}|)" VT_SYMBOLS "|" VT_SPACES}};
constexpr PreStep kJais2[] = {
    {VT_CONTRACTION
     "|" VT_WORD R"(|\p{N}{1,3}|)" VT_SYMBOLS
     R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S))"
     R"(|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}};
constexpr PreStep kQwen2[] = {{VT_QWEN2}};
constexpr PreStep kQwen35[] = {{VT_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
                                               R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" VT_SPACES}};
constexpr PreStep kUfakzeka[] = {{VT_WORD R"(|\p{N}|)" VT_SYMBOLS "|" VT_SPACES}};
constexpr PreStep kMinicpm5[] = {
    {R"(\p{N}{1,3})"}, {VT_CONTRACTION "|" VT_WORD R"(|\p{N}+|)" VT_SYMBOLS "|" VT_SPACES}};
constexpr PreStep kLaguna[] = {{R"([^\n]+|[\n]+)"}, {VT_QWEN2}};
constexpr PreStep kSeedCoder[] = {
    {VT_CONTRACTION "|" VT_WORD R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" VT_SPACES}};
constexpr PreStep kBailing[] = {{R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}|)"
                                 R"( ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"}};
// Possessive where the tokenizer.json is greedy: nothing follows that could take characters back.
constexpr PreStep kExaoneMoe[] = {
    {VT_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++|\p{N}|)"
                    R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"}};
constexpr PreStep kDeepseekLlm[] = {
    {R"([\r\n])"},
    {"\\s?["
     "A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-"
     "\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1"
     "\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-"
     "\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15"
     "\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D"
     "\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB"
     "\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D"
     "\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183"
     "\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B"
     "\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-"
     "\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB"
     "\U00010C80-\U00010CB2\U00010CC0-\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943"
     "]+"},
    {"\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+"},
    {R"(\s+$)"},
    {"[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"},
    {R"(\p{N}+)"}};
constexpr PreStep kDeepseekCoder[] = {{R"([\r\n])"},
                                      {R"(\s?\p{L}+)"},
                                      {R"(\s?\p{P}+)"},
                                      {"[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"},
                                      {R"(\p{N})"}};
constexpr PreStep kDeepseek3[] = {
    {R"(\p{N}{1,3})"},
    {VT_KANJI_KANA},
    {VT_ASCII_WORD R"(|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" VT_SPACES}};
constexpr PreStep kSpark25[] = {
    {R"(\p{N}{1,3})"},
    {VT_KANJI_KANA},
    {VT_ASCII_WORD R"(|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)"},
    {R"(\p{N})"}};
constexpr PreStep kYoutu[] = {
    {R"([가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+)"},
    {VT_CASED(VT_CONTRACTION "?") R"(|\p{N}|)" VT_SYMBOLS_SLASH "|" VT_SPACES}};
constexpr PreStep kAfmoe[] = {
    {.pattern = R"(\p{N}++)", .group_by_three = true},
    {"[\u4E00-\u9FFF\u3400-\u4DBF\u8C48-\uFAFF\u3040-\u309F\u30A0-\u30FF\uFF65-\uFF9F\u2F00-\u2FDF"
     "\u0E40-\u0E7F\u0E80-\u0EFF\u1780-\u17FF\u1000-\u109F\uAA60-\uAA7F\uA9E0-\uA9FF\uAC00-\uD7AF"
     "\u1100-\u11FF]+"},
    {VT_ASCII_WORD R"(|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" VT_SPACES}};
// \d{1,3}(?=(?:\d{3})*\b) without looking ahead over the whole number at each match.
constexpr PreStep kTinyAya[] = {
    {.pattern = R"((?<!\d)\d++\b)", .group_by_three = true},
    {VT_CASED(VT_CONTRACTION "?") R"(|\p{N}{1,3}|)" VT_SYMBOLS_SLASH "|" VT_SPACES}};
// \p{N}+ and then (?=(\d{3})+(?!\d)).
constexpr PreStep kSuperBpe[] = {{R"(\p{N}+)"}, {.pattern = R"(\d++)", .group_by_three = true}};
constexpr PreStep kTekken[] = {{VT_CASED("") R"(|\p{N}|)" VT_SYMBOLS_SLASH "|" VT_SPACES}};
constexpr PreStep kGpt4o[] = {
    {VT_CASED(VT_CONTRACTION "?") R"(|\p{N}{1,3}|)" VT_SYMBOLS_SLASH "|" VT_SPACES}};
constexpr PreStep kKimi[] = {{R"(\p{sc:Han}+|)" VT_LEAD VT_UPPER_NOT_HAN "*" VT_LOWER_NOT_HAN
                              "+" VT_CONTRACTION "?|" VT_LEAD VT_UPPER_NOT_HAN "+" VT_LOWER_NOT_HAN
                              "*" VT_CONTRACTION R"(?|\p{N}{1,3}|)" VT_SYMBOLS "|" VT_SPACES}};
constexpr PreStep kBloom[] = {{R"( ?[^(\s|.,!?…。，、।۔،)]+)"}};
constexpr PreStep kViking[] = {{R"( ?[^(\s|.,!?…。，、।۔،)]+)"}, {R"(\p{N})"}};
constexpr PreStep kChameleon[] = {
    {"<sentinel:[0-9]+>"},       {"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"},
    {R"([\t\n]|    |  )"},       {R"(\p{N})"},
    {R"([\p{P}!-/:-@\[-`{-~])"}, {VT_GPT2}};
constexpr PreStep kLines[] = {{R"([^\n]+|[\n]+)"}};
constexpr PreStep kNotSpace[] = {{R"(\S+)"}};

#undef VT_CONTRACTION
#undef VT_WORD
#undef VT_SYMBOLS
#undef VT_SPACES
#undef VT_UPPER
#undef VT_LOWER
#undef VT_LEAD
#undef VT_CASED
#undef VT_SYMBOLS_SLASH
#undef VT_UPPER_NOT_HAN
#undef VT_LOWER_NOT_HAN
#undef VT_GPT2
#undef VT_QWEN2
#undef VT_ASCII_WORD
#undef VT_KANJI_KANA

constexpr PreRule Llama3(std::string_view name) {
  return {.name = name, .steps = kLlama3, .ignore_merges = true, .add_bos = true};
}
constexpr PreRule Lines(std::string_view name) {
  return {.name = name, .steps = kLines, .utf8 = true, .space_marks = true};
}

constexpr PreRule kRules[] = {
    {.name = "", .steps = kDefault},
    {.name = "a.x-4.0", .steps = kGpt2},
    {.name = "afmoe", .steps = kAfmoe},
    {.name = "bailingmoe", .steps = kBailing},
    {.name = "bailingmoe2", .steps = kBailing},
    {.name = "bloom", .steps = kBloom},
    {.name = "chameleon", .steps = kChameleon, .add_bos = true},
    {.name = "chatglm-bpe", .steps = kLlama3, .no_default_bos = true},
    {.name = "codeshell", .steps = kStarcoder},
    {.name = "cohere2moe", .steps = kTinyAya},
    {.name = "command-r", .steps = kStarcoder},
    {.name = "dbrx", .steps = kLlama3},
    {.name = "deepseek-coder", .steps = kDeepseekCoder},
    {.name = "deepseek-llm", .steps = kDeepseekLlm},
    {.name = "deepseek-r1-qwen", .steps = kQwen2},
    {.name = "deepseek-v3", .steps = kDeepseek3},
    {.name = "default", .steps = kDefault},
    {.name = "exaone", .steps = kStarcoder},
    {.name = "exaone-moe", .steps = kExaoneMoe},
    {.name = "exaone4", .steps = kGpt2},
    {.name = "f2llmv2", .steps = kQwen2},
    {.name = "falcon", .steps = kFalcon},
    Llama3("falcon-h1"),
    Llama3("falcon3"),
    {.name = "gemma4",
     .steps = kLines,
     .force_bos = true,
     .utf8 = true,
     .space_marks = true,
     .newline_runs = true},
    {.name = "gigachat", .steps = kGpt2},
    {.name = "glm4", .steps = kLlama3, .ignore_merges = true, .no_default_bos = true},
    {.name = "glm5", .steps = kLlama3, .ignore_merges = true, .no_default_bos = true},
    {.name = "gpt-2", .steps = kGpt2},
    {.name = "gpt-4o", .steps = kGpt4o},
    {.name = "gpt3-finnish", .steps = kBloom},
    {.name = "granite-docling", .steps = kGpt2},
    {.name = "granite-embed-multi-311m",
     .steps = kLines,
     .force_bos = true,
     .utf8 = true,
     .space_marks = true,
     .newline_runs = true},
    {.name = "granite-embed-multi-97m", .steps = kGpt4o, .ignore_merges = true},
    {.name = "grok-2", .steps = kQwen2},
    {.name = "hunyuan", .steps = kQwen2},
    {.name = "hunyuan-dense", .steps = kDeepseek3},
    {.name = "hy_v4", .steps = kDeepseek3},
    {.name = "jais", .steps = kGpt2},
    {.name = "jais-2", .steps = kJais2},
    {.name = "jina-de", .steps = kGpt2},
    {.name = "jina-es", .steps = kGpt2},
    {.name = "jina-v1-en", .steps = kGpt2},
    {.name = "jina-v2-code", .steps = kGpt2},
    {.name = "jina-v2-de", .steps = kGpt2},
    {.name = "jina-v2-es", .steps = kGpt2},
    Llama3("jina-v5-nano"),
    {.name = "joyai-llm", .steps = kDeepseek3},
    {.name = "kanana2", .steps = kGpt4o},
    {.name = "kimi-k2", .steps = kKimi},
    {.name = "kormo", .steps = kQwen2},
    {.name = "laguna", .steps = kLaguna},
    Llama3("lfm2"),
    {.name = "llada-moe", .steps = kBailing},
    Llama3("llama-bpe"),
    Llama3("llama-v3"),
    Llama3("llama3"),
    {.name = "llama4", .steps = kGpt4o},
    {.name = "megrez", .steps = kQwen2},
    {.name = "mellum", .steps = kGpt2},
    {.name = "mellum2", .steps = kStarcoder},
    Llama3("midm-2.0"),
    {.name = "minerva-7b", .steps = kStarcoder},
    {.name = "minicpm5", .steps = kMinicpm5, .ignore_merges = true},
    {.name = "minimax-m2", .steps = kGpt4o},
    {.name = "mmbert",
     .steps = kLines,
     .utf8 = true,
     .space_marks = true,
     .mark_starts = true,
     .newline_runs = true},
    {.name = "modern-bert", .steps = kGpt2},
    {.name = "mpt", .steps = kGpt2},
    {.name = "olmo", .steps = kGpt2},
    {.name = "phi-2", .steps = kGpt2},
    Llama3("pixtral"),
    {.name = "poro-chat", .steps = kBloom},
    {.name = "qwen2", .steps = kQwen2},
    {.name = "qwen35", .steps = kQwen35},
    {.name = "refact", .steps = kStarcoder},
    {.name = "roberta-bpe", .steps = kGpt2},
    Lines("sarvam-moe"),
    {.name = "seed-coder", .steps = kSeedCoder},
    {.name = "smaug-bpe", .steps = kLlama3},
    {.name = "smollm", .steps = kStarcoder},
    {.name = "solar-open", .steps = kQwen2},
    {.name = "spark2_5", .steps = kSpark25},
    {.name = "stablelm2", .steps = kQwen2},
    {.name = "starcoder", .steps = kStarcoder},
    {.name = "superbpe", .steps = kSuperBpe},
    {.name = "talkie", .steps = kGpt4o},
    {.name = "tekken", .steps = kTekken, .ignore_merges = true, .add_bos = true},
    {.name = "tiny_aya", .steps = kTinyAya},
    {.name = "trillion", .steps = kGpt2},
    {.name = "ufakzeka", .steps = kUfakzeka},
    {.name = "viking", .steps = kViking},
    {.name = "whitespace", .steps = kNotSpace, .utf8 = true},
    {.name = "youtu", .steps = kYoutu, .ignore_merges = true},
};

}  // namespace

const PreRule* FindPreRule(std::string_view name) {
  const auto* rule = std::find_if(std::begin(kRules), std::end(kRules),
                                  [&](const PreRule& r) { return r.name == name; });
  return rule == std::end(kRules) ? nullptr : rule;
}

std::string KnownPreRules() {
  std::string names;
  for (const PreRule& rule : kRules) {
    if (rule.name.empty()) continue;
    names += names.empty() ? "" : ", ";
    names += rule.name;
  }
  return names;
}

}  // namespace vt::tok
