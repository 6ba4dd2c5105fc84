// MiniMax-M2: experts, query and key norms over all heads as one row, partial rotation.
#include "models/family.h"

namespace vt {

Family MiniMaxM2Family() {
  Family family;
  family.architecture = "minimax-m2";
  family.qk_norm = Presence::kRequired;
  family.qk_norm_span = NormSpan::kRow;
  family.moe.normalize = true;
  return family;
}

}  // namespace vt
