#include "vt/status.h"

namespace vt {
namespace {

struct CodeRow {
  Code code;
  std::string_view name;
  int exit_code;
};

constexpr CodeRow kCodes[] = {
    {Code::kOk, "ok", 0},
    {Code::kNo, "no", 1},
    {Code::kInvalid, "invalid", 2},
    {Code::kNotFound, "not_found", 2},
    {Code::kCorrupt, "corrupt", 3},
    {Code::kUnsupported, "unsupported", 4},
    {Code::kNoMemory, "no_memory", 5},
    {Code::kDevice, "device", 6},
    {Code::kInternal, "internal", 6},
    {Code::kInterrupted, "interrupted", 130},
};

const CodeRow& Find(Code code) {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row;
  }
  return kCodes[8];
}

}  // namespace

std::string_view CodeName(Code code) { return Find(code).name; }
int ExitCode(Code code) { return Find(code).exit_code; }

}  // namespace vt
