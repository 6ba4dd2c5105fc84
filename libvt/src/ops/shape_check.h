// An answer on shapes, built check by check: the first that fails is the reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "ops/registry.h"

namespace vt {

class ShapeCheck {
 public:
  ShapeCheck& AtLeast(const char* what, std::int64_t seen, std::int64_t least) {
    return seen >= least ? *this
                         : No(Seen(what, seen) + " must be at least " + std::to_string(least));
  }
  // `why` names the unit.
  ShapeCheck& Multiple(const char* what, std::int64_t seen, std::int64_t unit,
                       std::string_view why) {
    return unit > 0 && seen % unit == 0 ? *this
                                        : No(Seen(what, seen) + " must be a multiple of " +
                                             std::to_string(unit) + " (" + std::string(why) + ")");
  }
  ShapeCheck& AtMost(const char* what, std::int64_t seen, const char* limit, std::int64_t most) {
    return seen <= most ? *this : No(Seen(what, seen) + " exceeds " + Seen(limit, most));
  }
  // A distance between rows: 0 stands for the row itself.
  ShapeCheck& Stride(std::int64_t seen, std::int64_t row) {
    return seen == 0 || seen >= row ? *this
                                    : No(Seen("stride", seen) + " must be 0 or at least the row (" +
                                         std::to_string(row) + ")");
  }
  // `reason` is a string, or gives one when called: only if the check fails, as most do not.
  template <class Reason>
  ShapeCheck& True(bool holds, Reason reason) {
    if constexpr (std::is_invocable_v<Reason>) {
      return holds ? *this : No(reason());
    } else {
      return holds ? *this : No(std::string(reason));
    }
  }
  ShapeCheck& And(Support other) { return other.yes ? *this : No(std::move(other.reason)); }

  operator Support() const { return answer_; }

 private:
  static std::string Seen(const char* what, std::int64_t value) {
    return std::string(what) + " (" + std::to_string(value) + ")";
  }
  ShapeCheck& No(std::string reason) {
    if (answer_.yes) answer_ = {false, std::move(reason)};
    return *this;
  }

  Support answer_;
};

}  // namespace vt
