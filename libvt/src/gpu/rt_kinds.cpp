#include "gpu/rt_kinds.h"

namespace vt {

namespace gpu_sim {
extern const GpuKernels kKernels;
}
#ifdef VT_WITH_CUDA
namespace gpu_cuda {
extern const GpuKernels kKernels;
extern const GpuBackend kBackend;
}  // namespace gpu_cuda
#endif
#ifdef VT_WITH_HIP
namespace gpu_hip {
extern const GpuKernels kKernels;
extern const GpuBackend kBackend;
}  // namespace gpu_hip
#endif

GpuKind GpuKindOf(DeviceKind kind) {
  if (kind == DeviceKind::kCuda) {
#ifdef VT_WITH_CUDA
    return {kind, &gpu_cuda::kKernels, &gpu_cuda::kBackend, "VT_CUDA_ARCHS"};
#else
    return {kind, nullptr, nullptr, "VT_CUDA_ARCHS"};
#endif
  }
  if (kind == DeviceKind::kHip) {
#ifdef VT_WITH_HIP
    return {kind, &gpu_hip::kKernels, &gpu_hip::kBackend, "VT_HIP_ARCHS"};
#else
    return {kind, nullptr, nullptr, "VT_HIP_ARCHS"};
#endif
  }
  return {DeviceKind::kSim, &gpu_sim::kKernels, nullptr, ""};
}

}  // namespace vt
