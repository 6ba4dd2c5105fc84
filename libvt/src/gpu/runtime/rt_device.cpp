// The devices of one GPU runtime: what they are, their memory, their streams. Compiled once for
// each kind in the build.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/rt.h"
#include "gpu/rt_kinds.h"
#if defined(VT_GPU_HIP)
#include "gpu/runtime/rt_hip_loader.h"
#endif

#define VT_GPU_TEXT_INNER(name) #name
#define VT_GPU_TEXT(name) VT_GPU_TEXT_INNER(name)

namespace vt::VT_GPU_NAMESPACE {
namespace {

// "cudaMalloc", as this runtime calls it.
#define VT_GPU_NAME(name) VT_GPU_TEXT(VT_GPU_API(name))

std::string IdOf(int number) {
  return std::string(NameOf(VT_GPU_KIND)) + ":" + std::to_string(number);
}

std::vector<std::string> Archs() {
  std::vector<std::string> archs;
  std::string_view list = VT_GPU_ARCHS;  // "sm_80,sm_90"
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    archs.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return archs;
}

// Why no driver answers; empty when one does.
std::string NoDriver() {
#if defined(VT_GPU_CUDA)
  int version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess && version == 0) {
    return "libcuda.so.1 is not installed";
  }
  return {};
#else
  return HipRuntimeMissing();
#endif
}

#if defined(VT_GPU_CUDA)
using Properties = cudaDeviceProp;
std::string ArchOf(const Properties& properties) {
  return "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
}
#else
using Properties = hipDeviceProp_t;
// "gfx90a:sramecc+:xnack-" without its settings: our code is compiled for any of them.
std::string ArchOf(const Properties& properties) {
  const std::string arch = properties.gcnArchName;
  return arch.substr(0, arch.find(':'));
}
#endif

#if defined(VT_GPU_CUDA)
constexpr auto kIntegrated = cudaDevAttrIntegrated;
constexpr auto kMapsHost = cudaDevAttrCanMapHostMemory;
constexpr auto kPageable = cudaDevAttrPageableMemoryAccess;
constexpr auto kMemoryClock = cudaDevAttrMemoryClockRate;
constexpr auto kBusWidth = cudaDevAttrGlobalMemoryBusWidth;
#else
constexpr auto kIntegrated = hipDeviceAttributeIntegrated;
constexpr auto kMapsHost = hipDeviceAttributeCanMapHostMemory;
constexpr auto kPageable = hipDeviceAttributePageableMemoryAccess;
constexpr auto kMemoryClock = hipDeviceAttributeMemoryClockRate;
constexpr auto kBusWidth = hipDeviceAttributeMemoryBusWidth;
#endif

template <class Attribute>
std::optional<int> Read(Attribute attribute, int number) {
  int value = 0;
  if (gpuDeviceGetAttribute(&value, attribute, number) == gpuSuccess) return value;
  (void)gpuGetLastError();
  return std::nullopt;
}
template <class Attribute>
Answer ReadAnswer(Attribute attribute, int number, const char* name) {
  const std::optional<int> value = Read(attribute, number);
  if (!value) return {};
  return {*value != 0, std::string(VT_GPU_NAME(DeviceGetAttribute) " ") + name};
}

DeviceInfo Describe(int number) {
  DeviceInfo device;
  device.id = IdOf(number);
  device.kind = VT_GPU_KIND;
  Properties properties{};
  if (VT_GPU_API(GetDeviceProperties)(&properties, number) == gpuSuccess) {
    device.name = properties.name;
    device.arch = ArchOf(properties);
  }
  std::size_t free = 0, total = 0;
  if (gpuSetDevice(number) == gpuSuccess && gpuMemGetInfo(&free, &total) == gpuSuccess) {
    device.memory_total = {total, VT_GPU_NAME(MemGetInfo)};
    device.memory_available = {free, VT_GPU_NAME(MemGetInfo)};
  }
  device.integrated = ReadAnswer(kIntegrated, number, "integrated");
  device.host_memory_addressable = ReadAnswer(kMapsHost, number, "can map host memory");
  device.pageable_memory_access = ReadAnswer(kPageable, number, "pageable memory access");
  device.managed_allocations = {false, "vt: allocates with " VT_GPU_NAME(Malloc)};
  const std::optional<int> khz = Read(kMemoryClock, number);
  const std::optional<int> bits = Read(kBusWidth, number);
  if (khz && bits && *khz > 0 && *bits > 0) {
    device.memory_gb_per_s = {*khz * 1e3 * 2 * *bits / 8 / 1e9,
                              VT_GPU_NAME(DeviceGetAttribute) " memory clock x bus width x 2"};
  }
  (void)gpuGetLastError();  // what could not be read stays unknown
  return device;
}

std::vector<DeviceInfo> Devices(std::string& reason) {
  if (std::string missing = NoDriver(); !missing.empty()) {
    reason = "no driver: " + missing;
    return {};
  }
  int count = 0;
  const gpuError_t error = gpuGetDeviceCount(&count);
  if (error != gpuSuccess && error != gpuErrorNoDevice) {
    (void)gpuGetLastError();
    reason = std::string("the driver does not answer: ") + gpuGetErrorString(error);
    return {};
  }
  (void)gpuGetLastError();
  if (error == gpuErrorNoDevice || count == 0) {
    reason = "the driver found no device";
    return {};
  }
  std::vector<DeviceInfo> devices;
  devices.reserve(static_cast<std::size_t>(count));
  for (int number = 0; number < count; ++number) devices.push_back(Describe(number));
  return devices;
}

class Memory : public DeviceMemory {
 public:
  explicit Memory(int number) : number_(number) {}
  ~Memory() override {
    while (!sizes_.empty()) Free(sizes_.begin()->first);
  }

  Result<void*> Allocate(std::uint64_t bytes) override {
    VT_RETURN_IF_ERROR(StatusOf(gpuSetDevice(number_), Call("SetDevice").c_str()));
    void* memory = nullptr;
    const gpuError_t error = gpuMalloc(&memory, std::max<std::uint64_t>(bytes, 1));
    if (error == gpuErrorMemoryAllocation) {
      (void)gpuGetLastError();
      return NoMemoryError("device " + IdOf(number_) + ": cannot allocate " +
                           std::to_string(bytes) + " bytes, " + std::to_string(used_) +
                           " in use: " + gpuGetErrorString(error));
    }
    VT_RETURN_IF_ERROR(StatusOf(error, Call("Malloc").c_str()));
    sizes_.emplace(memory, bytes);
    used_ += bytes;
    if (Status zeroed = StatusOf(gpuMemset(memory, 0, bytes), Call("Memset").c_str());
        !zeroed.ok()) {
      Free(memory);
      return zeroed;
    }
    return memory;
  }

  void Free(void* memory) override {
    const auto size = sizes_.find(memory);
    if (size == sizes_.end()) return;
    used_ -= size->second;
    sizes_.erase(size);
    if (gpuSetDevice(number_) != gpuSuccess || gpuFree(memory) != gpuSuccess) {
      (void)gpuGetLastError();  // the device is lost, and with it the memory
    }
  }

  Status Upload(void* to, const void* from, std::uint64_t bytes) override {
    return Copy(to, from, bytes, gpuMemcpyHostToDevice);
  }
  Status Download(void* to, const void* from, std::uint64_t bytes) override {
    return Copy(to, from, bytes, gpuMemcpyDeviceToHost);
  }
  std::uint64_t bytes_in_use() const override { return used_; }

 private:
  template <class Direction>
  Status Copy(void* to, const void* from, std::uint64_t bytes, Direction direction) {
    VT_RETURN_IF_ERROR(StatusOf(gpuSetDevice(number_), Call("SetDevice").c_str()));
    return StatusOf(gpuMemcpy(to, from, bytes, direction), Call("Memcpy").c_str());
  }
  std::string Call(const char* name) const {
    return "device " + IdOf(number_) + ": " + VT_GPU_TEXT(VT_GPU_API()) + name;
  }

  int number_;
  std::uint64_t used_ = 0;
  std::map<void*, std::uint64_t> sizes_;
};

class Stream : public GpuStream {
 public:
  Stream(int number, gpuStream_t native) : number_(number), native_(native) {}
  ~Stream() override {
    if (gpuStreamDestroy(native_) != gpuSuccess) (void)gpuGetLastError();
  }
  Status Synchronize() override {
    return StatusOf(gpuStreamSynchronize(native_), ("device " + IdOf(number_)).c_str());
  }
  gpuStream_t Native() const {
    if (gpuSetDevice(number_) != gpuSuccess) (void)gpuGetLastError();  // the launch will say
    return native_;
  }

 private:
  int number_;
  gpuStream_t native_;
};

Result<std::unique_ptr<DeviceMemory>> OpenMemory(const DeviceInfo&, int number) {
  return std::unique_ptr<DeviceMemory>(std::make_unique<Memory>(number));
}

Result<std::unique_ptr<GpuStream>> OpenStream(const DeviceInfo& device, int number) {
  if (std::string missing = NoDriver(); !missing.empty()) {
    return Status(Code::kDevice, "device " + device.id + ": no driver: " + missing);
  }
  const std::string subject = "device " + device.id;
  VT_RETURN_IF_ERROR(StatusOf(gpuSetDevice(number), subject.c_str()));
  gpuStream_t native = nullptr;
  VT_RETURN_IF_ERROR(StatusOf(gpuStreamCreate(&native), subject.c_str()));
  return std::unique_ptr<GpuStream>(std::make_unique<Stream>(number, native));
}

}  // namespace

gpuStream_t NativeStream(GpuStream& stream) { return static_cast<Stream&>(stream).Native(); }

Status StatusOf(gpuError_t error, const char* what) {
  if (error == gpuSuccess) return {};
  (void)gpuGetLastError();
  return {Code::kDevice, std::string(what) + ": " + gpuGetErrorString(error)};
}

extern const GpuBackend kBackend;
const GpuBackend kBackend = {Archs, Devices, OpenMemory, OpenStream};

}  // namespace vt::VT_GPU_NAMESPACE
