#include "ops/cases/bound_call.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cpu/quants/dequantize.h"
#include "ops/cases/binder.h"
#include "ops/op_facts.h"

namespace vt {
namespace {

constexpr std::size_t kGuard = 256;  // bytes before and after; keeps the alignment
constexpr std::uint8_t kGuardByte = 0xff;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The scales up to the weight's last row; all those of its last matrix.
std::int64_t ScaleCount(const Weight& w) {
  const WeightScales& s = w.scales;
  const std::int64_t rows = s.first_row + w.rows;
  const std::int64_t of_row = s.block_cols > 0 ? CeilDiv(w.cols, s.block_cols) : 1;
  if (s.matrix_rows == 0) return CeilDiv(rows, s.block_rows) * of_row;
  return CeilDiv(rows, s.matrix_rows) * CeilDiv(s.matrix_rows, s.block_rows) * of_row;
}

}  // namespace

Result<std::unique_ptr<BoundCall>> BoundCall::Make(const OpCase& op_case, DeviceMemory& memory,
                                                   std::uint64_t seed, int parts) {
  std::unique_ptr<BoundCall> bound(new BoundCall(memory));
  bound->call_ = op_case.call;
  Binder binder(*bound, seed, parts);
  std::visit(
      [&](auto& args) { FactsOf<std::decay_t<decltype(args)>>().bind(binder, op_case, args); },
      bound->call_);
  if (!binder.status().ok()) return binder.status();
  return bound;
}

BoundCall::~BoundCall() {
  for (const Buffer& buffer : buffers_) memory_.Free(buffer.base);
}

Status BoundCall::CheckUntouched() const {
  for (const Buffer& buffer : buffers_) {
    const std::size_t size = buffer.image.size();
    std::vector<std::uint8_t> now(size + 2 * kGuard);
    VT_RETURN_IF_ERROR(memory_.Download(now.data(), buffer.base, now.size()));
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (now[i] == kGuardByte && now[kGuard + size + i] == kGuardByte) continue;
      return InternalError(
          "wrote beside its " + buffer.name + ", " + std::to_string(i + 1) +
          (now[i] == kGuardByte ? " bytes after the end" : " bytes into the 256 before it"));
    }
    if (buffer.use == Buffer::Use::kInput &&
        !std::equal(buffer.image.begin(), buffer.image.end(), now.begin() + kGuard)) {
      return InternalError("wrote on its input " + buffer.name);
    }
  }
  return {};
}

Result<std::vector<CallOutput>> BoundCall::Outputs() const {
  std::vector<CallOutput> outputs;
  for (const Buffer& buffer : buffers_) {
    if (buffer.use != Buffer::Use::kOutput) continue;
    CallOutput output{buffer.kind, std::vector<std::uint8_t>(buffer.image.size())};
    VT_RETURN_IF_ERROR(memory_.Download(
        output.bytes.data(), static_cast<const char*>(buffer.base) + kGuard, output.bytes.size()));
    if (buffer.rows) PlacePages(output.bytes);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

// Two calls have their buffers at other addresses.
void BoundCall::PlacePages(std::vector<std::uint8_t>& rows) const {
  constexpr int kPlaceBits = 48;
  for (std::size_t at = 0; at < rows.size(); at += sizeof(AttentionRow)) {
    std::uint8_t* pages = rows.data() + at + offsetof(AttentionRow, pages);
    std::uintptr_t address = 0;
    std::memcpy(&address, pages, sizeof address);
    std::uint64_t place = 0;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(buffers_[i].base) + kGuard;
      if (address < start || address - start >= buffers_[i].image.size()) continue;
      place = (i + 1) << kPlaceBits | (address - start);
    }
    static_assert(sizeof place == sizeof address);
    std::memcpy(pages, &place, sizeof place);
  }
}

void* Binder::Add(const char* name, Use use, CallOutput::Kind kind,
                  std::vector<std::uint8_t> image) {
  if (!status_.ok()) return nullptr;
  std::vector<std::uint8_t> guarded(image.size() + 2 * kGuard, kGuardByte);
  std::copy(image.begin(), image.end(), guarded.begin() + kGuard);
  const Result<void*> base = call_.memory_.Allocate(guarded.size());
  if (!base.ok()) {
    status_ = base.status();
    return nullptr;
  }
  if (use != Use::kScratch) call_.bytes_ += image.size();
  call_.buffers_.push_back({*base, std::move(image), use, kind, name, false});
  status_ = call_.memory_.Upload(*base, guarded.data(), guarded.size());
  return static_cast<char*>(*base) + kGuard;
}

std::vector<float> Binder::Uniform(std::int64_t count, float low, float high) {
  std::vector<float> values(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  for (float& value : values) value = random_.Uniform(low, high);
  return values;
}

const float* Binder::Floats(const char* name, std::int64_t count, float low, float high) {
  const std::vector<float> values = Uniform(count, low, high);
  return Values<float>(name, values);
}

const std::int32_t* Binder::Ids(const char* name, std::int64_t count, std::int64_t below) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  const auto limit = static_cast<std::uint64_t>(std::max<std::int64_t>(below, 1));
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random_.Below(limit));
  return Values<std::int32_t>(name, ids);
}

void Binder::FillWeight(const char* name, Weight& w) {
  const std::int64_t block = InfoOf(w.type).block;
  const std::int64_t row_blocks = (w.cols + block - 1) / block;
  const std::vector<std::uint8_t> blocks = RandomBlocks(w.type, w.rows * row_blocks, random_);
  w.data = Values<std::uint8_t>(name, blocks);
  largest_weight_ = 0;
  if (const DequantizeFn decode = FindDequantize(w.type)) {
    std::vector<float> row(static_cast<std::size_t>(row_blocks * block));
    const std::size_t row_bytes =
        row.size() / static_cast<std::size_t>(block) * InfoOf(w.type).block_bytes;
    for (std::size_t at = 0; at < blocks.size(); at += row_bytes) {
      decode(blocks.data() + at, row.data(), row_blocks * block);
      for (const float value : row) {
        largest_weight_ = std::max<double>(largest_weight_, std::abs(value));
      }
    }
  }
  if (w.type == DType::kF8_E4M3) {
    w.scales.values = Floats("scales", ScaleCount(w), 0.001f, 0.01f);
    largest_weight_ *= 0.01;
  }
}

Q15Rows Binder::Quantised(std::int64_t rows, std::int64_t cols) {
  const auto groups = static_cast<std::size_t>(rows * (cols / kQ15Group));
  std::vector<std::int8_t> high(groups * kQ15Group), low(groups * kQ15Group);
  std::vector<float> scales(groups);
  std::vector<std::int32_t> sums(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    scales[g] = random_.Uniform(0, 1.0f / 16256);
    for (std::size_t i = g * kQ15Group; i < (g + 1) * kQ15Group; ++i) {
      const int q = static_cast<int>(random_.Below(2 * 16256 + 1)) - 16256;
      const int digit = ((q + 64) & 127) - 64;
      low[i] = static_cast<std::int8_t>(digit);
      high[i] = static_cast<std::int8_t>((q - digit) / 128);
      sums[g] += q;
    }
  }
  // The arguments' type has no const: kernels that read it do not write.
  return {const_cast<std::int8_t*>(Values<std::int8_t>("high digits", high)),
          const_cast<std::int8_t*>(Values<std::int8_t>("low digits", low)),
          const_cast<float*>(Values<float>("scales", scales)),
          const_cast<std::int32_t*>(Values<std::int32_t>("sums", sums))};
}

float* Binder::Output(const char* name, std::int64_t count) {
  return static_cast<float*>(
      Add(name, Use::kOutput, CallOutput::Kind::kF32,
          std::vector<std::uint8_t>(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)) * 4,
                                    kGuardByte)));
}

void* Binder::OutputBytes(const char* name, std::int64_t bytes) {
  return Add(name, Use::kOutput, CallOutput::Kind::kBytes,
             std::vector<std::uint8_t>(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)),
                                       kGuardByte));
}

AttentionRow* Binder::OutputRows(const char* name, std::int64_t count) {
  auto* rows = static_cast<AttentionRow*>(
      OutputBytes(name, count * static_cast<std::int64_t>(sizeof(AttentionRow))));
  if (rows) call_.buffers_.back().rows = true;
  return rows;
}

float* Binder::Changed(const char* name, std::int64_t count) {
  const std::vector<float> values = Uniform(count, -1, 1);
  return static_cast<float*>(Add(name, Use::kOutput, CallOutput::Kind::kF32, Bytes<float>(values)));
}

void Binder::InAndOut(const float*& in, float*& out, std::int64_t count, bool in_place, float low,
                      float high) {
  if (in_place) {
    const std::vector<float> values = Uniform(count, low, high);
    out =
        static_cast<float*>(Add("out", Use::kOutput, CallOutput::Kind::kF32, Bytes<float>(values)));
    in = out;
    return;
  }
  in = Floats("input", count, low, high);
  out = Output("out", count);
}

float* Binder::Scratch(std::int64_t floats) {
  return static_cast<float*>(
      Add("scratch", Use::kScratch, CallOutput::Kind::kF32,
          std::vector<std::uint8_t>(static_cast<std::size_t>(std::max<std::int64_t>(floats, 0)) * 4,
                                    kGuardByte)));
}

void* Binder::Cells(const char* name, const KvCells& cells, std::int64_t count,
                    std::int64_t values) {
  const std::int64_t block = InfoOf(cells.type).block;
  const std::vector<std::uint8_t> bytes =
      RandomBlocks(cells.type, count * ((values + block - 1) / block), random_);
  return const_cast<std::uint8_t*>(Values<std::uint8_t>(name, bytes));
}

void Binder::Rounding(std::int64_t length, double scale) {
  call_.length_ = length;
  call_.scale_ = scale;
}

}  // namespace vt
