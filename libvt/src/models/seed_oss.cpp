// Seed-OSS: Llama's block; the norm before the feed-forward has the name of one after attention.
#include "models/family.h"

namespace vt {

Family SeedOssFamily() {
  Family family;
  family.architecture = "seed_oss";
  family.ffn_norm_name = "post_attention_norm";
  return family;
}

}  // namespace vt
