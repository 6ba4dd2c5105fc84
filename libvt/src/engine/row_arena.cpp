#include "engine/row_arena.h"

namespace vt {

Result<Arena> RowArena(const EnginePlan& plan, const std::string& device, const char* row,
                       DeviceMemory& memory) {
  Result<Arena> arena = MakeArena(memory, plan.RowBytes(device, row));
  if (!arena.ok()) return arena.status().Annotate("memory row \"" + std::string(row) + "\"");
  return arena;
}

Status CheckUsedUp(const Arena& arena, const char* row) {
  if (arena.taken() == arena.capacity()) return {};
  return InternalError("memory row \"" + std::string(row) + "\": the plan has " +
                       std::to_string(arena.capacity()) + " bytes, " +
                       std::to_string(arena.taken()) + " were taken");
}

}  // namespace vt
