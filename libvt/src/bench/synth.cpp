#include "bench/synth.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "base/whole_file.h"
#include "cpu/generic/half.h"
#include "cpu/quants/dequantize.h"
#include "formats/tokenizer/vocabulary.h"

namespace vt {
namespace {

constexpr std::uint64_t kAlignment = 32;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// Where a block keeps an f16 scale, where (-1: nowhere) the f16 that is added (`plus`) or taken
// off, and the multiple of the scale that it must be for values around 0. Layouts: cpu/quants.
struct ScalePlace {
  int scale = -1;
  int offset = -1;
  float offset_per_scale = 0;
};
ScalePlace PlaceOf(DType type) {
  switch (type) {
    case DType::kQ4_1:
      return {0, 2, -7.5f};
    case DType::kQ5_1:
      return {0, 2, -15.5f};
    case DType::kQ4_K:
      return {0, 2, 7.5f};
    case DType::kQ5_K:
      return {0, 2, 15.5f};
    case DType::kQ2_K:
      return {80, 82, 1.5f};
    case DType::kQ3_K:
      return {108, -1, 0};
    case DType::kQ6_K:
      return {208, -1, 0};
    case DType::kTQ1_0:
      return {52, -1, 0};
    case DType::kTQ2_0:
      return {64, -1, 0};
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kIQ1_M:
    case DType::kMXFP4:
    case DType::kNVFP4:
      return {};
    default:
      return {0, -1, 0};
  }
}

void PutHalf(std::uint8_t* at, float value) {
  const std::uint16_t half = F32ToF16(value);
  std::memcpy(at, &half, sizeof half);
}

// The largest power of two that is not above `scale`, as an exponent held to a range.
int ExponentOf(float scale, int lowest, int highest) {
  return std::clamp(static_cast<int>(std::floor(std::log2(std::max(scale, 1e-30f)))), lowest,
                    highest);
}

// Pairs that English text merges first; each side is a byte or an earlier pair.
constexpr const char* kMerges[][2] = {
    {" ", "t"},  {"h", "e"},  {" ", "a"},  {"i", "n"},  {"r", "e"},  {"o", "n"}, {" t", "he"},
    {"e", "r"},  {" ", "s"},  {"a", "t"},  {" ", "w"},  {" ", "o"},  {"e", "n"}, {" ", "c"},
    {"i", "t"},  {"i", "s"},  {"a", "n"},  {"o", "r"},  {"e", "s"},  {" ", "b"}, {"e", "d"},
    {" ", "f"},  {"in", "g"}, {" ", "p"},  {"o", "u"},  {" a", "n"}, {"a", "l"}, {"a", "r"},
    {" t", "o"}, {" ", "m"},  {" o", "f"}, {" ", "in"}, {" ", "d"},  {" ", "h"}, {" an", "d"},
};

std::string Mapped(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out.append(tok::ByteLevelChar(static_cast<unsigned char>(c)));
  return out;
}

Result<std::vector<SynthKey>> TokenizerKeys(std::uint64_t vocab) {
  constexpr std::size_t kLeast = 258;
  constexpr std::int32_t kNormal = 1, kControl = 3, kUnused = 5;
  if (vocab < kLeast || vocab > 0x7fffffff) {
    return InvalidError("shape: a vocabulary of " + std::to_string(vocab) +
                        "; a tokenizer of bytes needs 258 at least");
  }
  const std::size_t size = static_cast<std::size_t>(vocab);
  std::vector<std::string> texts, merges;
  for (int byte = 0; byte < 256; ++byte) {
    texts.emplace_back(tok::ByteLevelChar(static_cast<unsigned char>(byte)));
  }
  for (const auto& [left, right] : kMerges) {
    if (texts.size() + 2 >= size) break;
    merges.push_back(Mapped(left) + " " + Mapped(right));
    texts.push_back(Mapped(left) + Mapped(right));
  }
  std::vector<std::int32_t> kinds(texts.size(), kNormal);
  const std::uint32_t begin = static_cast<std::uint32_t>(texts.size());
  for (const char* text : {"<|begin_of_text|>", "<|end_of_text|>"}) {
    texts.emplace_back(text);
    kinds.push_back(kControl);
  }
  while (texts.size() < size) {
    texts.push_back("<|unused_" + std::to_string(texts.size()) + "|>");
    kinds.push_back(kUnused);
  }
  return std::vector<SynthKey>{
      {"tokenizer.ggml.model", GgufType::kString, EncodedText("gpt2")},
      {"tokenizer.ggml.pre", GgufType::kString, EncodedText("gpt-2")},
      {"tokenizer.ggml.tokens", GgufType::kArray, EncodedTexts(texts)},
      {"tokenizer.ggml.token_type", GgufType::kArray, EncodedI32s(kinds)},
      {"tokenizer.ggml.merges", GgufType::kArray, EncodedTexts(merges)},
      {"tokenizer.ggml.bos_token_id", GgufType::kU32, EncodedU32(begin)},
      {"tokenizer.ggml.eos_token_id", GgufType::kU32, EncodedU32(begin + 1)},
      {"tokenizer.ggml.add_bos_token", GgufType::kBool, std::string(1, '\1')}};
}

std::uint64_t ValuesOf(const SynthTensor& tensor) {
  std::uint64_t values = 1;
  for (const std::uint64_t dim : tensor.dims) values *= dim;
  return values;
}

std::uint64_t BytesOf(const SynthTensor& tensor) { return RowBytes(tensor.type, ValuesOf(tensor)); }

std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Everything before the first tensor byte.
Result<std::string> Header(const SynthModel& model) {
  const auto embedding =
      std::find_if(model.tensors.begin(), model.tensors.end(),
                   [](const SynthTensor& tensor) { return tensor.name == "token_embd.weight"; });
  if (embedding == model.tensors.end() || embedding->dims.size() != 2) {
    return InvalidError("shape: has no matrix token_embd.weight");
  }
  VT_ASSIGN_OR_RETURN(const std::vector<SynthKey> tokenizer, TokenizerKeys(embedding->dims[1]));
  std::string out = "GGUF" + EncodedU32(3) + EncodedU64(model.tensors.size()) +
                    EncodedU64(model.keys.size() + tokenizer.size());
  for (const std::vector<SynthKey>* keys : {&model.keys, &tokenizer}) {
    for (const SynthKey& key : *keys) {
      out += EncodedText(key.name) + EncodedU32(static_cast<std::uint32_t>(key.type)) + key.bytes;
    }
  }
  std::uint64_t offset = 0;
  for (const SynthTensor& tensor : model.tensors) {
    if (!FindDequantize(tensor.type)) {
      return InvalidError("shape: tensor " + tensor.name + " is " +
                          std::string(NameOf(tensor.type)) + ", which no weight can be");
    }
    out += EncodedText(tensor.name) + EncodedU32(static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::uint64_t dim : tensor.dims) out += EncodedU64(dim);
    out += EncodedU32(static_cast<std::uint32_t>(tensor.type)) + EncodedU64(offset);
    offset += Aligned(BytesOf(tensor));
  }
  out.resize(static_cast<std::size_t>(Aligned(out.size())), '\0');
  return out;
}

// A vector's values: near 1 for norms and frequency factors, else small.
void FillVector(const SynthTensor& tensor, RandomData& random, std::vector<std::uint8_t>& bytes) {
  const bool near_one = tensor.name.find("norm") != std::string::npos ||
                        tensor.name.find("rope") != std::string::npos ||
                        tensor.name.find("scale") != std::string::npos;
  const bool weight = near_one && tensor.name.find("bias") == std::string::npos;
  for (std::size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    const float value = weight ? random.Uniform(0.95f, 1.05f) : random.Uniform(-0.05f, 0.05f);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

Status WriteTensor(const SynthTensor& tensor, RandomData& random, WholeFile& file,
                   const SynthOptions& options, std::uint64_t total) {
  const std::size_t block = InfoOf(tensor.type).block_bytes;
  const WeightMaker maker(tensor.type, 1 / std::sqrt(static_cast<double>(tensor.dims[0])));
  const bool vector = tensor.type == DType::kF32 && tensor.dims.size() == 1;
  std::vector<std::uint8_t> piece;
  for (std::uint64_t left = BytesOf(tensor); left > 0;) {
    if (options.cancel && *options.cancel) {
      return Status(Code::kInterrupted, "interrupted; no file was written");
    }
    piece.resize(
        static_cast<std::size_t>(std::min<std::uint64_t>(left, kPieceBytes / block * block)));
    if (vector) {
      FillVector(tensor, random, piece);
    } else {
      maker.Fill(random, piece);
    }
    VT_RETURN_IF_ERROR(file.Write({reinterpret_cast<const char*>(piece.data()), piece.size()}));
    left -= piece.size();
    if (options.progress) options.progress(file.size(), total);
  }
  const std::uint64_t bytes = BytesOf(tensor);
  return file.Write(std::string(static_cast<std::size_t>(Aligned(bytes) - bytes), '\0'));
}

}  // namespace

WeightMaker::WeightMaker(DType type, double sigma) : type_(type) {
  // What a scale of 1 gives is measured on blocks of this kind.
  const DTypeInfo& info = InfoOf(type);
  constexpr int kBlocks = 64;
  RandomData random(1);
  std::vector<std::uint8_t> blocks(std::size_t{kBlocks} * info.block_bytes);
  for (int i = 0; i < kBlocks; ++i) {
    FillBlock(random, blocks.data() + static_cast<std::size_t>(i) * info.block_bytes, 1);
  }
  std::vector<float> values(std::size_t{kBlocks} * info.block);
  DequantizeRow(type, blocks.data(), values.data(), static_cast<std::int64_t>(values.size()));
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  const double unit = std::sqrt(squares / static_cast<double>(values.size()));
  scale_ = static_cast<float>(unit > 0 ? sigma / unit : sigma);
}

void WeightMaker::FillBlock(RandomData& random, std::uint8_t* block, float scale) const {
  const std::size_t size = InfoOf(type_).block_bytes;
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t bits = random.Bits();
    std::memcpy(block + at, &bits, std::min<std::size_t>(8, size - at));
  }
  if (const ScalePlace place = PlaceOf(type_); place.scale >= 0) {
    PutHalf(block + place.scale, scale);
    if (place.offset >= 0) PutHalf(block + place.offset, scale * place.offset_per_scale);
    return;
  }
  switch (type_) {
    case DType::kF32: {
      const float value = random.Uniform(-1, 1) * scale;
      std::memcpy(block, &value, sizeof value);
      break;
    }
    case DType::kF16:
      PutHalf(block, random.Uniform(-1, 1) * scale);
      break;
    case DType::kBF16: {
      const std::uint16_t half = F32ToBf16(random.Uniform(-1, 1) * scale);
      std::memcpy(block, &half, sizeof half);
      break;
    }
    case DType::kIQ1_M: {  // the scale's nibbles are the top ones of four 16-bit words
      const std::uint16_t half = F32ToF16(scale);
      for (int i = 0; i < 4; ++i) {
        std::uint8_t& top = block[48 + 2 * i + 1];
        top = static_cast<std::uint8_t>((top & 0x0f) | (half >> (4 * i) & 15) << 4);
      }
      break;
    }
    case DType::kMXFP4:  // an exponent of base 2, 127 means 1
      block[0] = static_cast<std::uint8_t>(127 + ExponentOf(scale, -120, 120));
      break;
    case DType::kNVFP4:  // four of sign, four exponent and three fraction bits; bias 7
      for (int i = 0; i < 4; ++i) {
        block[i] = static_cast<std::uint8_t>((7 + ExponentOf(scale, -6, 7)) << 3);
      }
      break;
    default:
      break;
  }
}

void WeightMaker::Fill(RandomData& random, std::vector<std::uint8_t>& bytes) const {
  const std::size_t size = InfoOf(type_).block_bytes;
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    FillBlock(random, bytes.data() + at, scale_);
  }
}

Result<SynthAnswer> WriteSynth(const SynthModel& model, const SynthOptions& options) {
  VT_ASSIGN_OR_RETURN(const std::string header, Header(model));
  SynthAnswer answer{header.size(), 0};
  for (const SynthTensor& tensor : model.tensors) {
    answer.bytes += Aligned(BytesOf(tensor));
    answer.parameters += ValuesOf(tensor);
  }
  VT_ASSIGN_OR_RETURN(const std::uint64_t room, FreeBytes(options.path));
  if (answer.bytes > room) {
    return NoMemoryError("output file: needs " + std::to_string(answer.bytes) +
                         " bytes, and the disk has " + std::to_string(room) +
                         " left; cut it with --layers, or write elsewhere");
  }
  VT_ASSIGN_OR_RETURN(WholeFile file, WholeFile::Create(options.path));
  VT_RETURN_IF_ERROR(file.Write(header));
  RandomData random(options.seed);
  for (const SynthTensor& tensor : model.tensors) {
    VT_RETURN_IF_ERROR(WriteTensor(tensor, random, file, options, answer.bytes));
  }
  VT_RETURN_IF_ERROR(file.Commit());
  return answer;
}

}  // namespace vt
