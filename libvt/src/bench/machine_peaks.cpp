#include "bench/machine_peaks.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "device/device_memory.h"

namespace vt {
namespace {

using Clock = std::chrono::steady_clock;

// Multiply-adds that depend on nothing but their own register: `kChains` of them hide the latency.
constexpr int kChains = 10;
constexpr std::int64_t kRounds = 2'000'000;

float ScalarRounds(std::int64_t rounds) {
  float sums[kChains] = {};
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums) sum = sum * 0.5f + 1.0f;
  }
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) float Avx2Rounds(std::int64_t rounds) {
  const __m256 half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1.0f);
  __m256 sums[kChains];
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 10
    for (int c = 0; c < kChains; ++c) sums[c] = _mm256_fmadd_ps(sums[c], half, one);
  }
  float total = 0;
  for (const __m256& sum : sums) total += _mm256_cvtss_f32(sum);
  return total;
}

__attribute__((target("avx512f"))) float Avx512Rounds(std::int64_t rounds) {
  const __m512 half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1.0f);
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 10
    for (int c = 0; c < kChains; ++c) sums[c] = _mm512_fmadd_ps(sums[c], half, one);
  }
  float total = 0;
  for (const __m512& sum : sums) total += _mm512_cvtss_f32(sum);
  return total;
}
#endif

struct Rounds {
  float (*run)(std::int64_t) = ScalarRounds;
  int lanes = 1;
};
Rounds WidestRounds(const DeviceInfo& cpu) {
#if defined(__x86_64__)
  if (cpu.features & kFeatureAvx512) return {Avx512Rounds, 16};
  if (cpu.features & kFeatureAvx2) return {Avx2Rounds, 8};
#endif
  (void)cpu;
  return {};
}

// Nanoseconds of the fastest of the repetitions.
template <class Fn>
double BestNs(int repetitions, const std::atomic<bool>* cancel, Fn&& fn) {
  double best = 1e300;
  for (int i = 0; i <= repetitions && !(cancel && *cancel); ++i) {
    const Clock::time_point start = Clock::now();
    fn();
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    if (i > 0) best = std::min(best, ns);  // the first one warms up
  }
  return best;
}

std::uint64_t Sum(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sums[k] += words[i + k];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

Result<MachinePeaks> MeasurePeaks(const DeviceInfo& cpu, ThreadPool& pool,
                                  std::uint64_t buffer_bytes, int repetitions,
                                  const std::atomic<bool>* cancel) {
  MachinePeaks peaks;
  peaks.threads = pool.threads();
  if (buffer_bytes == 0) {
    std::uint64_t largest = 0;
    for (const CacheLevel& cache : cpu.topology.caches) largest = std::max(largest, cache.bytes);
    buffer_bytes =
        std::clamp<std::uint64_t>(4 * largest, std::uint64_t{256} << 20, std::uint64_t{2} << 30);
  }
  peaks.memory_bytes = buffer_bytes;
  VT_ASSIGN_OR_RETURN(const auto memory, OpenDeviceMemory(cpu));
  VT_ASSIGN_OR_RETURN(void* const buffer, memory->Allocate(buffer_bytes));
  std::memset(buffer, 1, buffer_bytes);
  const std::uint64_t* words = static_cast<const std::uint64_t*>(buffer);
  const std::size_t count = buffer_bytes / sizeof(std::uint64_t);
  std::atomic<std::uint64_t> used = 0;  // keeps the sums from being left out
  const double read_ns = BestNs(repetitions, cancel, [&] {
    pool.Run(pool.threads(), [&](Part part) {
      const std::size_t begin =
          count * static_cast<std::size_t>(part.index) / static_cast<std::size_t>(part.count);
      const std::size_t end =
          count * (static_cast<std::size_t>(part.index) + 1) / static_cast<std::size_t>(part.count);
      used += Sum(words + begin, end - begin);
    });
  });
  memory->Free(buffer);
  const Rounds rounds = WidestRounds(cpu);
  const double add_ns = BestNs(repetitions, cancel, [&] {
    pool.Run(pool.threads(),
             [&](Part) { used += static_cast<std::uint64_t>(rounds.run(kRounds)); });
  });
  if (cancel && *cancel) return Status(Code::kInterrupted, "interrupted while measuring peaks");
  peaks.memory_gb_per_s = static_cast<double>(buffer_bytes) / read_ns;
  peaks.f32_gflops =
      2.0 * rounds.lanes * kChains * static_cast<double>(kRounds) * pool.threads() / add_ns;
  return peaks;
}

}  // namespace vt
