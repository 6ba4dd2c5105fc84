// Devices: what each one is, what it can run (features) and what its memory is.
//
// A device is this machine's (probed), described (a vt.profile/1 or vt.caps/1 document of a machine
// that is not here) or simulated. All three are the same plain struct, so that whatever asks a
// device a question cannot tell the difference, nor treat it differently.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "vt/dtype.h"
#include "vt/status.h"

namespace vt {

enum class DeviceKind { kCpu, kCuda, kHip, kSim };
inline constexpr DeviceKind kDeviceKinds[] = {DeviceKind::kCpu, DeviceKind::kCuda, DeviceKind::kHip,
                                              DeviceKind::kSim};
std::string_view NameOf(DeviceKind kind);  // "cpu", "cuda", "hip", "sim"
Result<DeviceKind> ParseDeviceKind(std::string_view name);
// What configures a build with the kernels of a kind: "-DVT_HIP=ON"; empty when always built.
std::string_view ConfigureFlag(DeviceKind kind);

// What kernels ask of a CPU, as bits. A bit is set only when CPUID reports the instructions and the
// operating system lets this process use their registers (XGETBV; for the tiles of AMX also a
// granted permission and a trial product that came out right).
enum CpuFeature : std::uint32_t {
  kFeatureAvx2 = 1u << 0,        // AVX2, FMA and F16C
  kFeatureAvx512 = 1u << 1,      // AVX-512 F, BW, DQ, VL
  kFeatureAvx512Vnni = 1u << 2,  // dpbusd on 512-bit registers
  kFeatureAmxInt8 = 1u << 3,     // tiles, and their products of bytes
};
std::vector<std::string_view> FeatureNames(std::uint32_t features);  // {"avx2", "avx512", ...}
std::optional<CpuFeature> FindFeature(std::string_view name);

// One instruction set extension (or GPU capability) and what became of it.
struct FeatureFact {
  enum class State { kUsable, kAbsent, kRefused };  // refused: there, but the system withholds it
  std::string name;                                 // "avx512vnni"
  State state = State::kAbsent;
  std::string reason;  // of kAbsent and kRefused: "CPUID leaf 7 lacks avx512_vnni"
};
std::string_view NameOf(FeatureFact::State state);  // "usable", "absent", "refused"

// A number and where it was read, or no number.
struct MemoryFact {
  std::optional<std::uint64_t> bytes;
  std::string source;  // "/proc/meminfo MemAvailable"; empty when unknown
};

// A rate or another real number and where it comes from, or no number.
struct Figure {
  std::optional<double> value;
  std::string source;
};

// A yes or no and where it comes from, or no answer.
struct Answer {
  std::optional<bool> yes;
  std::string source;
};

// What there is of a CPU and what this process may use of it.
struct CacheLevel {
  int level = 0;  // 1 is data only
  std::uint64_t bytes = 0;
  int count = 0;  // in the machine
};
struct NumaNode {
  int id = 0;
  std::vector<int> cpus;
  std::optional<std::uint64_t> memory_bytes;
};
struct CpuTopology {
  std::optional<int> packages;
  std::optional<int> cores;          // physical, in the machine
  std::optional<int> threads;        // logical processors, in the machine
  std::vector<int> allowed;          // logical processors in this process's affinity mask
  std::optional<int> allowed_cores;  // physical cores that those are part of
  Figure quota_cpus;                 // CPU time the cgroup grants, in processors; none: no limit
  std::vector<NumaNode> numa;
  std::vector<CacheLevel> caches;
};

// How a simulated device misbehaves.
struct SimFaults {
  std::optional<std::uint64_t> fail_at_byte;  // the allocation that would pass this total fails
  bool probe_answers = true;
  // What the device says is free: the truth, nothing, or this.
  bool free_known = true;
  std::optional<std::uint64_t> free_wrong_bytes;
  std::optional<std::uint64_t> fail_at_wait;  // waiting for its queue fails this time, from 1
};

// What kernels reach, measured: of a matrix or of cells that are read for one row at a time, and of
// many rows at once; of matrices with rows of kRateCols values.
struct KernelRate {
  Figure gb_per_s;
  Figure tflops;
};
inline constexpr std::string_view kAttentionRate = "attention";
inline constexpr int kRateCols = 2048;

struct DeviceInfo {
  std::string id;  // "cpu", "cuda:0"
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;            // "AMD Ryzen 9 7950X"
  std::string arch;            // "gfx1151", "sm_90", "x86-64"; empty when unknown
  std::uint32_t features = 0;  // CpuFeature bits
  std::vector<FeatureFact> feature_facts;
  int cores = 1;  // threads worth starting: allowed processors, held to the cgroup's CPU quota
  CpuTopology topology;

  MemoryFact memory_total;      // as the device reports it
  MemoryFact memory_available;  // for this process: MemAvailable, held to what the cgroup leaves
  MemoryFact memory_limit;      // the cgroup's
  MemoryFact memory_reserve;    // left to everything else on the machine
  MemoryFact memory_ceiling;    // most that all allocations together can reach
  // What a plan may use: the smallest of total, available and ceiling that are known, less the
  // reserve. Unknown when none is.
  MemoryFact memory_usable() const;

  Answer integrated;                               // shares its memory with the host
  Answer host_memory_addressable;                  // kernels may read host allocations
  Answer managed_allocations;                      // memory is allocated as managed
  Answer pageable_memory_access;                   // kernels may read any host page
  Figure memory_gb_per_s;                          // 10^9 bytes a second
  Figure link_gb_per_s;                            // to the host, one way
  std::map<std::string, Figure> compute_tflops;    // "f32", "bf16", "fp8", "int8", ..: dense
  std::map<std::string, KernelRate> kernel_rates;  // by weight type, "q4_k"; kAttentionRate
  Figure launch_us;                                // from the end of an op to the next
  // The block-quantised weight types it can hold; none: every type. Plain types are always held.
  std::optional<std::vector<DType>> kept_quant_types;
  std::set<std::string, std::less<>> lacks_ops;  // ops that this device cannot run although built

  // Described by a document: kernels count whether this build has them or not.
  bool described = false;
  // Of a vt.caps/1 document: the rows that were usable there, "op kernel"; none: as the table says.
  std::optional<std::set<std::string, std::less<>>> usable_kernels;
  std::optional<SimFaults> sim;
};

// A family of devices that this library can drive, and what came of it.
struct BackendInfo {
  DeviceKind kind = DeviceKind::kCpu;
  bool built = true;
  std::string configure;           // what builds it: "-DVT_HIP=ON"; empty when always built
  std::vector<std::string> archs;  // that its kernels were compiled for
  bool registered = false;         // gave at least one device
  std::string reason;              // why not: "no driver: libcuda.so.1 is not installed"
};

struct Machine {
  std::vector<BackendInfo> backends;  // one of each kind, in the order of DeviceKind
  std::vector<DeviceInfo> devices;    // cpu first, then by kind and number
};

struct MachineOptions {
  // Read /proc, /sys and the cgroup files under this directory instead of "/"; empty: the variable
  // VT_SYSROOT, or "/". CPUID is the processor's own in any case.
  std::string root = {};
  std::vector<DeviceInfo> sims = {};  // registers sim:0, sim:1, .. as profiles describe them
};

// Every device there is here. Never fails: what cannot be driven is a backend with its reason.
Machine ProbeMachine(const MachineOptions& options = {});

// kNotFound: names the devices there are, or why the backend of that name gave none.
Result<DeviceInfo> FindDevice(const Machine& machine, std::string_view id);

DeviceInfo ProbeCpu(const std::string& root = {});

// `info` held to an instruction set: "scalar", "avx2", "avx512" (no VNNI), "avx512vnni".
// kInvalid when the name is not known, kUnsupported when this machine lacks it.
Result<DeviceInfo> LimitIsa(DeviceInfo info, std::string_view isa);

}  // namespace vt
