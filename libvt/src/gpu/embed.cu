#include "gpu/launchers.h"
#include "gpu/weights.h"

namespace vt::VT_GPU_NAMESPACE {

// A block to a row of ids: threads of a warp decode neighbouring values, so that a block of the
// table is read once.
constexpr int kEmbedThreads = 256;

// Value `i` of the row that begins at byte `row`.
template <DType kType>
VT_DEVICE float Decode(const Bytes& table, std::int64_t row, std::int64_t i) {
  if constexpr (kType == DType::kF32) {
    return table.Load<float>(row + i * 4);
  } else if constexpr (kType == DType::kF16) {
    return F16ToF32(table.Load<std::uint16_t>(row + i * 2));
  } else if constexpr (kType == DType::kBF16) {
    return Bf16ToF32(table.Load<std::uint16_t>(row + i * 2));
  } else if constexpr (kType == DType::kQ8_0) {
    const std::int64_t block = row + i / kQ8_0Values * kQ8_0Bytes;
    const auto value = table.Load<std::int8_t>(block + 2 + i % kQ8_0Values);
    return F16ToF32(table.Load<std::uint16_t>(block)) * static_cast<float>(value);
  } else {
    static_assert(kType == DType::kQ4_K);
    const std::int64_t block = row + i / kQ4_KValues * kQ4_KBytes;
    const int within = static_cast<int>(i % kQ4_KValues);
    const int run = within / 32;
    const ScaleAndMin s = ReadQ4_KScale(table, block, run);
    const std::uint32_t byte = table[block + kQ4_KNibbles + run / 2 * 32 + within % 32];
    const std::uint32_t nibble = run % 2 == 0 ? byte & 15u : byte >> 4;
    return s.scale * static_cast<float>(nibble) - s.min;
  }
}

template <DType kType>
VT_KERNEL EmbedKernel(Bytes table, View<const std::int32_t> ids, View<float> out, std::int64_t cols,
                      std::int64_t row_bytes, float scale) {
  const std::int64_t row = BlockIndex();
  const std::int64_t from = ids[row] * row_bytes;
  for (std::int64_t i = ThreadIndex(); i < cols; i += ThreadCount()) {
    out[row * cols + i] = Decode<kType>(table, from, i) * scale;
  }
}

Status LaunchEmbed(const EmbedArgs& args, GpuStream& stream) {
  const std::int64_t cols = args.table.cols;
  if (args.rows == 0 || cols == 0) return {};
  const auto launch = [&](auto kernel) {
    const auto row_bytes =
        static_cast<std::int64_t>(RowBytes(args.table.type, static_cast<std::uint64_t>(cols)));
    return Launch(stream, EmbedArgs::kOp, {.blocks = args.rows, .threads = kEmbedThreads}, kernel,
                  BytesOf(args.table), View<const std::int32_t>(args.ids, args.rows),
                  View<float>(args.out, args.rows * cols), cols, row_bytes, args.scale);
  };
  switch (args.table.type) {
    case DType::kF32:
      return launch(EmbedKernel<DType::kF32>);
    case DType::kF16:
      return launch(EmbedKernel<DType::kF16>);
    case DType::kBF16:
      return launch(EmbedKernel<DType::kBF16>);
    case DType::kQ8_0:
      return launch(EmbedKernel<DType::kQ8_0>);
    case DType::kQ4_K:
      return launch(EmbedKernel<DType::kQ4_K>);
    default:
      return InternalError("kernel embed: a table of a type that it does not take");
  }
}

}  // namespace vt::VT_GPU_NAMESPACE
