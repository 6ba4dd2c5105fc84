// The vocabulary of rt.h where the compiler and the driver of a GPU provide it. Host code that is
// not compiled by a GPU's compiler sees the host's half.
#pragma once

#include <string>

#define gpuDeviceGetAttribute VT_GPU_API(DeviceGetAttribute)
#define gpuError_t VT_GPU_API(Error_t)
#define gpuErrorMemoryAllocation VT_GPU_API(ErrorMemoryAllocation)
#define gpuErrorNoDevice VT_GPU_API(ErrorNoDevice)
#define gpuFree VT_GPU_API(Free)
#define gpuGetDeviceCount VT_GPU_API(GetDeviceCount)
#define gpuGetErrorString VT_GPU_API(GetErrorString)
#define gpuGetLastError VT_GPU_API(GetLastError)
#define gpuMalloc VT_GPU_API(Malloc)
#define gpuMemGetInfo VT_GPU_API(MemGetInfo)
#define gpuMemcpy VT_GPU_API(Memcpy)
#define gpuMemcpyDeviceToHost VT_GPU_API(MemcpyDeviceToHost)
#define gpuMemcpyHostToDevice VT_GPU_API(MemcpyHostToDevice)
#define gpuMemset VT_GPU_API(Memset)
#define gpuSetDevice VT_GPU_API(SetDevice)
#define gpuStream_t VT_GPU_API(Stream_t)
#define gpuStreamCreate VT_GPU_API(StreamCreate)
#define gpuStreamDestroy VT_GPU_API(StreamDestroy)
#define gpuStreamSynchronize VT_GPU_API(StreamSynchronize)
#define gpuSuccess VT_GPU_API(Success)

namespace vt::VT_GPU_NAMESPACE {

// The driver's handle of a stream of this kind; makes its device the calling thread's.
gpuStream_t NativeStream(GpuStream& stream);
// kDevice: "what: the driver's text".
Status StatusOf(gpuError_t error, const char* what);

#if defined(__CUDACC__) || defined(__HIP__)

#define VT_KERNEL __global__ void
#define VT_DEVICE __device__ __forceinline__
#define VT_UNROLL _Pragma("unroll")
#define VT_SHARED(Type, name, count)    \
  __shared__ Type name##_memory[count]; \
  const ::vt::VT_GPU_NAMESPACE::View<Type> name(name##_memory, count)
#define VT_DYNAMIC_SHARED(Type, name, count)                     \
  extern __shared__ __align__(16) unsigned char name##_memory[]; \
  const ::vt::VT_GPU_NAMESPACE::View<Type> name(reinterpret_cast<Type*>(name##_memory), count)

// `size` values that a kernel may touch. Here it costs what a pointer costs; the emulator checks.
template <class T>
class View {
 public:
  __host__ __device__ View(T* data, std::int64_t) : data_(data) {}
  VT_DEVICE T& operator[](std::int64_t i) const { return data_[i]; }
  VT_DEVICE explicit operator bool() const { return data_ != nullptr; }
  // A U at a byte offset that is a multiple of its size.
  template <class U>
  VT_DEVICE U Load(std::int64_t at) const {
    return *reinterpret_cast<const U*>(reinterpret_cast<const unsigned char*>(data_) + at);
  }

 private:
  T* data_;
};

VT_DEVICE int ThreadIndex() { return static_cast<int>(threadIdx.x); }
VT_DEVICE int ThreadCount() { return static_cast<int>(blockDim.x); }
VT_DEVICE std::int64_t BlockIndex() { return blockIdx.x; }
VT_DEVICE int WarpSize() { return warpSize; }

VT_DEVICE void Barrier() { __syncthreads(); }

#if defined(VT_GPU_CUDA)
template <class T>
VT_DEVICE T ShuffleXor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <class T>
VT_DEVICE T ShuffleDown(T value, int delta) {
  return __shfl_down_sync(0xffffffffu, value, delta);
}
#else
template <class T>
VT_DEVICE T ShuffleXor(T value, int mask) {
  return __shfl_xor(value, mask);
}
template <class T>
VT_DEVICE T ShuffleDown(T value, int delta) {
  return __shfl_down(value, delta);
}
#endif

VT_DEVICE float Fma(float a, float b, float c) { return fmaf(a, b, c); }
VT_DEVICE float SquareRoot(float x) { return sqrtf(x); }
VT_DEVICE float FloatFromBits(std::uint32_t bits) { return __uint_as_float(bits); }
VT_DEVICE std::uint32_t BitsOfFloat(float x) { return __float_as_uint(x); }
VT_DEVICE float Infinity() { return __uint_as_float(0x7f800000u); }

template <class... Params, class... Args>
Status Launch(GpuStream& stream, const char* name, LaunchShape shape, void (*kernel)(Params...),
              Args... args) {
  kernel<<<dim3(static_cast<unsigned>(shape.blocks)), dim3(static_cast<unsigned>(shape.threads)),
           static_cast<unsigned>(shape.shared_bytes), NativeStream(stream)>>>(Params(args)...);
  const gpuError_t error = gpuGetLastError();
  return error == gpuSuccess ? Status() : StatusOf(error, (std::string("kernel ") + name).c_str());
}

#endif  // a GPU's compiler

}  // namespace vt::VT_GPU_NAMESPACE
