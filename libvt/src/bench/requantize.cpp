#include "bench/requantize.h"

#include <string>
#include <vector>

#include "base/whole_file.h"
#include "bench/synth_shape.h"
#include "cpu/quants/dequantize.h"
#include "cpu/quants/quantize.h"

namespace vt {
namespace {

constexpr std::uint64_t kAlignment = 32;

std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool Stays(std::string_view key) {
  return !key.starts_with("split.") && key != "general.alignment" && key != "general.file_type";
}

DType TypeIn(const GgufTensor& tensor, DType wanted) {
  const bool fits = tensor.dims.size() <= 3 && IsQuantisable(tensor.name, tensor.dims.size()) &&
                    FindDequantize(tensor.type) && tensor.cols() % InfoOf(wanted).block == 0;
  return fits ? wanted : tensor.type;
}

std::string Header(const GgufFile& file, DType type) {
  std::string keys;
  std::uint64_t count = 0, offset = 0;
  for (const auto& [key, value] : file.metadata()) {
    if (!Stays(key)) continue;
    keys += EncodedText(key) + EncodedU32(static_cast<std::uint32_t>(value.type));
    keys += EncodedValue(value);
    ++count;
  }
  std::string out = "GGUF" + EncodedU32(3) + EncodedU64(file.tensors().size()) + EncodedU64(count);
  out += keys;
  for (const GgufTensor& tensor : file.tensors()) {
    const DType now = TypeIn(tensor, type);
    out += EncodedText(tensor.name) + EncodedU32(static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::uint64_t dim : tensor.dims) out += EncodedU64(dim);
    out += EncodedU32(static_cast<std::uint32_t>(now)) + EncodedU64(offset);
    offset += Aligned(RowBytes(now, tensor.cols()) * tensor.rows());
  }
  out.resize(static_cast<std::size_t>(Aligned(out.size())), '\0');
  return out;
}

std::string_view Bytes(const void* data, std::uint64_t size) {
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

Status WriteConverted(const GgufFile& file, const GgufTensor& tensor, DType type, WholeFile& out) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(file.Data(tensor));
  const std::uint64_t stride = RowBytes(tensor.type, tensor.cols());
  std::vector<float> values(static_cast<std::size_t>(tensor.cols()));
  std::vector<std::uint8_t> blocks(static_cast<std::size_t>(RowBytes(type, tensor.cols())));
  const auto cols = static_cast<std::int64_t>(tensor.cols());
  for (std::uint64_t row = 0; row < tensor.rows(); ++row) {
    DequantizeRow(tensor.type, from + row * stride, values.data(), cols);
    if (const Status status = QuantizeRow(type, values.data(), blocks.data(), cols); !status.ok()) {
      return status.Annotate("tensor " + std::string(tensor.name) + ", row " + std::to_string(row));
    }
    VT_RETURN_IF_ERROR(out.Write(Bytes(blocks.data(), blocks.size())));
  }
  return {};
}

}  // namespace

Result<RequantizeAnswer> RequantizeGguf(const GgufFile& file, DType type,
                                        const std::filesystem::path& out) {
  if (!CanQuantize(type) || static_cast<std::uint32_t>(type) >= kFirstOwnDType) {
    return InvalidError("type " + std::string(NameOf(type)) +
                        ": not a weight type of GGUF files (q8_0, q4_k, f16)");
  }
  for (const GgufShard& shard : file.shards()) {
    std::error_code ignored;
    if (std::filesystem::equivalent(shard.path, out, ignored)) {
      return InvalidError("output file " + out.string() +
                          ": is the model that is read; name another");
    }
  }
  VT_ASSIGN_OR_RETURN(WholeFile written, WholeFile::Create(out.string()));
  VT_RETURN_IF_ERROR(written.Write(Header(file, type)));
  RequantizeAnswer answer;
  for (const GgufTensor& tensor : file.tensors()) {
    const DType now = TypeIn(tensor, type);
    ++(now == type ? answer.converted : answer.kept);
    if (now == tensor.type) {
      VT_RETURN_IF_ERROR(written.Write(Bytes(file.Data(tensor), tensor.bytes)));
    } else {
      VT_RETURN_IF_ERROR(WriteConverted(file, tensor, now, written));
    }
    const std::uint64_t bytes = RowBytes(now, tensor.cols()) * tensor.rows();
    VT_RETURN_IF_ERROR(
        written.Write(std::string(static_cast<std::size_t>(Aligned(bytes) - bytes), '\0')));
  }
  answer.bytes = written.size();
  VT_RETURN_IF_ERROR(written.Commit());
  return answer;
}

}  // namespace vt
