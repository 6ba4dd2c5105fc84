// From device to device: which side of the placement runs what comes, and what goes along.
#include <algorithm>

#include "engine/forward_pass.h"

namespace vt {

Pass::Pass(const ForwardContext& context, std::int64_t rows)
    : c_(context), spec_(context.spec), rows_(rows), quantized_(context.sides.size()) {
  Enter(context.plan.placement.input);
}

void Pass::Enter(int side) {
  const PassSide& s = c_.sides[static_cast<std::size_t>(side)];
  // The place in the model goes along.
  if (ops_ && ops_ != s.ops) s.ops->At(ops_->layer(), ops_->place());
  at_ = side;
  w_ = s.weights;
  b_ = s.buffers;
  ops_ = s.ops;
}

Status Pass::EnterWithStream(int side) {
  if (side == at_) return {};
  VT_RETURN_IF_ERROR(Carry(b_->stream, rows_ * spec_.width, side));
  Enter(side);
  return {};
}

const void* Pass::TwinOf(const void* value, int side) const {
  if (value == nullptr) return nullptr;  // dry
  return c_.sides[static_cast<std::size_t>(side)].buffers->Find(*b_, value);
}

Status Pass::CarryBytes(const void* value, std::uint64_t bytes, int to) {
  if (to == at_ || bytes == 0) return {};
  if (ops_->dry()) {
    c_.crossings->push_back({ops_->layer(), ops_->place(), at_, to, bytes, rows_});
    return {};
  }
  const void* twin = TwinOf(value, to);
  if (twin == nullptr) {
    return InternalError("device " + c_.plan.placement.devices[static_cast<std::size_t>(to)] +
                         ": has no buffer for what crosses to it");
  }
  return Copy(value, at_, const_cast<void*>(twin), to, bytes);
}

Status Pass::Copy(const void* from, int from_side, void* to, int to_side, std::uint64_t bytes) {
  const PassSide& source = c_.sides[static_cast<std::size_t>(from_side)];
  const PassSide& target = c_.sides[static_cast<std::size_t>(to_side)];
  VT_RETURN_IF_ERROR(source.ops->Synchronize());
  VT_RETURN_IF_ERROR(target.ops->Synchronize());
  if (source.ops->device_kind() == DeviceKind::kCpu) {
    return target.memory->Upload(to, from, bytes);
  }
  if (target.ops->device_kind() == DeviceKind::kCpu) {
    return source.memory->Download(to, from, bytes);
  }
  for (std::uint64_t at = 0; at < bytes; at += kStagingBytes) {
    const std::uint64_t part = std::min(kStagingBytes, bytes - at);
    VT_RETURN_IF_ERROR(
        source.memory->Download(c_.staging, static_cast<const std::byte*>(from) + at, part));
    VT_RETURN_IF_ERROR(target.memory->Upload(static_cast<std::byte*>(to) + at, c_.staging, part));
  }
  return {};
}

Status Pass::CarrySelection(const IndexerSpec& indexer) {
  if (selection_ == at_) return {};
  const int here = at_;
  Enter(selection_);
  const std::int32_t* there = b_->selected;
  VT_RETURN_IF_ERROR(Carry(b_->selected, rows_ * indexer.top, here));
  VT_RETURN_IF_ERROR(Carry(b_->sparse_rows, rows_, here));
  Enter(here);
  selection_ = here;
  if (ops_->dry()) return {};
  // Each row names its list by address.
  for (std::int64_t r = 0; r < rows_; ++r) {
    AttentionRow& row = b_->sparse_rows[r];
    if (row.pages) row.pages = b_->selected + (row.pages - there);
  }
  return {};
}

}  // namespace vt
