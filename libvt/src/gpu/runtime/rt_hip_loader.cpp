// The HIP runtime's functions that this library calls, each of which loads libamdhip64 when first
// needed: so a program with HIP kernels starts on a machine that has never heard of HIP. (CUDA's
// runtime is linked statically and does the same with its driver.)
//
// The compiler makes every file of kernels register its code before main(). That is noted here and
// handed on once the runtime is loaded.
#include "gpu/runtime/rt_hip_loader.h"

#include <dlfcn.h>
#include <hip/hip_runtime_api.h>

#include <string>
#include <vector>

#define VT_TEXT_INNER(name) #name
#define VT_TEXT(name) VT_TEXT_INNER(name)

namespace {

// Registrations, as clang emits them for HIP (LLVM, CodeGen/CGCUDANV.cpp).
struct Kernel {
  const void* host_function;
  char* device_function;
  const char* device_name;
  unsigned thread_limit;
};
struct Code {
  const void* binary = nullptr;
  void** handle = nullptr;  // the runtime's
  std::vector<Kernel> kernels;
};
std::vector<Code*>& AllCode() {
  static std::vector<Code*> all;
  return all;
}

struct Runtime {
  void* library = nullptr;
  std::string missing;
};

using RegisterBinary = void** (*)(const void*);
using RegisterKernel = int (*)(void**, const void*, char*, const char*, unsigned, void*, void*,
                               void*, void*, int*);

Runtime Load() {
  const std::string name = "libamdhip64.so." VT_TEXT(HIP_VERSION_MAJOR);
  Runtime runtime;
  runtime.library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!runtime.library) {
    const char* why = dlerror();
    runtime.missing = why ? why : name + " cannot be loaded";
    return runtime;
  }
  const auto register_binary =
      reinterpret_cast<RegisterBinary>(dlsym(runtime.library, "__hipRegisterFatBinary"));
  const auto register_kernel =
      reinterpret_cast<RegisterKernel>(dlsym(runtime.library, "__hipRegisterFunction"));
  if (!register_binary || !register_kernel) {
    runtime.missing = name + " registers no kernels";
    runtime.library = nullptr;
    return runtime;
  }
  for (Code* code : AllCode()) {
    code->handle = register_binary(code->binary);
    for (const Kernel& kernel : code->kernels) {
      register_kernel(code->handle, kernel.host_function, kernel.device_function,
                      kernel.device_name, kernel.thread_limit, nullptr, nullptr, nullptr, nullptr,
                      nullptr);
    }
  }
  return runtime;
}

const Runtime& Loaded() {
  static const Runtime runtime = Load();
  return runtime;
}

template <class Function>
Function Find(const char* name) {
  void* library = Loaded().library;
  return library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

}  // namespace

std::string vt::gpu_hip::HipRuntimeMissing() { return Loaded().missing; }

// NOLINTBEGIN(bugprone-reserved-identifier): the compiler's and the runtime's names.
extern "C" {

#define VT_FORWARD(name, parameters, arguments)                             \
  hipError_t name parameters {                                              \
    static const auto call = Find<hipError_t(*) parameters>(VT_TEXT(name)); \
    return call ? call arguments : hipErrorNotInitialized;                  \
  }

VT_FORWARD(hipDeviceGetAttribute, (int* value, hipDeviceAttribute_t what, int device),
           (value, what, device))
VT_FORWARD(hipFree, (void* memory), (memory))
VT_FORWARD(hipGetDeviceCount, (int* count), (count))
VT_FORWARD(hipGetDeviceProperties, (hipDeviceProp_t * properties, int device), (properties, device))
VT_FORWARD(hipGetLastError, (), ())
VT_FORWARD(hipLaunchKernel,
           (const void* kernel, dim3 blocks, dim3 threads, void** arguments, std::size_t shared,
            hipStream_t stream),
           (kernel, blocks, threads, arguments, shared, stream))
VT_FORWARD(hipMalloc, (void** memory, std::size_t bytes), (memory, bytes))
VT_FORWARD(hipMemGetInfo, (std::size_t * free, std::size_t* total), (free, total))
VT_FORWARD(hipMemcpy, (void* to, const void* from, std::size_t bytes, hipMemcpyKind kind),
           (to, from, bytes, kind))
VT_FORWARD(hipMemset, (void* memory, int value, std::size_t bytes), (memory, value, bytes))
VT_FORWARD(hipSetDevice, (int device), (device))
VT_FORWARD(hipStreamCreate, (hipStream_t * stream), (stream))
VT_FORWARD(hipStreamDestroy, (hipStream_t stream), (stream))
VT_FORWARD(hipStreamSynchronize, (hipStream_t stream), (stream))
VT_FORWARD(__hipPushCallConfiguration,
           (dim3 blocks, dim3 threads, std::size_t shared, hipStream_t stream),
           (blocks, threads, shared, stream))
VT_FORWARD(__hipPopCallConfiguration,
           (dim3 * blocks, dim3* threads, std::size_t* shared, hipStream_t* stream),
           (blocks, threads, shared, stream))

const char* hipGetErrorString(hipError_t error) {
  static const auto call = Find<const char* (*)(hipError_t)>("hipGetErrorString");
  return call ? call(error) : "the HIP runtime is not loaded";
}

void** __hipRegisterFatBinary(const void* binary) {
  auto* code = new Code{binary, nullptr, {}};
  AllCode().push_back(code);
  return reinterpret_cast<void**>(code);
}

int __hipRegisterFunction(void** code, const void* host_function, char* device_function,
                          const char* device_name, unsigned thread_limit, void*, void*, void*,
                          void*, int*) {
  reinterpret_cast<Code*>(code)->kernels.push_back(
      {host_function, device_function, device_name, thread_limit});
  return 0;
}

// At exit, when the runtime may be gone: the system takes everything back.
void __hipUnregisterFatBinary(void**) {}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
