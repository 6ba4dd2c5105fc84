// Gemma 1: GeGLU, embeddings scaled by sqrt(width); the file's norm weights already hold 1 + w.
#include "models/family.h"

namespace vt {

Family GemmaFamily() {
  Family family;
  family.architecture = "gemma";
  family.activation = FfnActivation::kGelu;
  family.scaled_embedding = true;
  return family;
}

}  // namespace vt
