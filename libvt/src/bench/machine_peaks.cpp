#include "bench/machine_peaks.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "device/device_memory.h"

namespace vt {
namespace {

using Clock = std::chrono::steady_clock;

// Multiply-adds that depend on nothing but their own register: `kChains` of them hide the latency.
constexpr int kChains = 10;
constexpr std::int64_t kRounds = 100'000;  // about a tenth of a millisecond

constexpr std::uint64_t kSmallestRead = 64 << 10;
constexpr double kShortNs = 1e5;   // of what is timed at once, at least
constexpr double kBudgetNs = 6e6;  // of all repetitions of something short

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

// Each product depends on the sum before, so that none is taken out of the loop.
__attribute__((target("avx2"))) float Avx2ByteRounds(std::int64_t rounds) {
  const __m256i weights = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
  __m256i sums[kChains];
  for (__m256i& sum : sums) sum = _mm256_set1_epi8(1);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 10
    for (int c = 0; c < kChains; ++c) {
      const __m256i pairs = _mm256_maddubs_epi16(sums[c], weights);
      sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(pairs, ones));
    }
  }
  int total = 0;
  for (const __m256i& sum : sums) total ^= _mm256_extract_epi32(sum, 0);
  return static_cast<float>(total & 255);
}

__attribute__((target("avx512f,avx512vnni"))) float VnniByteRounds(std::int64_t rounds) {
  const __m512i values = _mm512_set1_epi32(0x01010101), weights = _mm512_set1_epi32(0x03030303);
  __m512i sums[kChains];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 10
    for (int c = 0; c < kChains; ++c) sums[c] = _mm512_dpbusd_epi32(sums[c], values, weights);
  }
  int total = 0;
  for (const __m512i& sum : sums) {
    int lanes[16];
    _mm512_storeu_si512(lanes, sum);
    total ^= lanes[0];
  }
  return static_cast<float>(total & 255);
}

__attribute__((target("avx2"))) std::uint64_t Avx2Sum(const std::uint64_t* words,
                                                      std::size_t count) {
  __m256i sums[8];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (std::size_t i = 0; i + 32 <= count; i += 32) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      const auto* from = reinterpret_cast<const __m256i*>(words + i + 4 * k);
      sums[k] = _mm256_add_epi64(sums[k], _mm256_loadu_si256(from));
    }
  }
  std::uint64_t total = 0;
  for (const __m256i& sum : sums) {
    total += static_cast<std::uint64_t>(_mm256_extract_epi64(sum, 0));
  }
  return total;
}

__attribute__((target("avx512f"))) std::uint64_t Avx512Sum(const std::uint64_t* words,
                                                           std::size_t count) {
  __m512i sums[8];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (std::size_t i = 0; i + 64 <= count; i += 64) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      sums[k] = _mm512_add_epi64(sums[k], _mm512_loadu_si512(words + i + 8 * k));
    }
  }
  std::uint64_t total = 0;
  for (const __m512i& sum : sums) {
    std::uint64_t lanes[8];
    _mm512_storeu_si512(lanes, sum);
    total += lanes[0];
  }
  return total;
}
#endif

std::uint64_t PlainSum(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sums[k] += words[i + k];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  return total;
}

using SumFn = std::uint64_t(const std::uint64_t* words, std::size_t count);
SumFn* WidestSum(const DeviceInfo& cpu) {
#if defined(__x86_64__)
  if (cpu.features & kFeatureAvx512) return Avx512Sum;
  if (cpu.features & kFeatureAvx2) return Avx2Sum;
#endif
  (void)cpu;
  return PlainSum;
}

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
// Null where there are no instructions for products of bytes.
Rounds ByteRounds(const DeviceInfo& cpu) {
#if defined(__x86_64__)
  if (cpu.features & kFeatureAvx512Vnni) return {VnniByteRounds, 64};
  if (cpu.features & kFeatureAvx2) return {Avx2ByteRounds, 32};
#endif
  (void)cpu;
  return {nullptr, 0};
}

// Nanoseconds of the fastest repetition. What is short is repeated more often, so that others who
// use the machine disturb some of them only.
template <class Fn>
double BestNs(int repetitions, const std::atomic<bool>* cancel, Fn&& fn) {
  double best = 1e300, spent = 0;
  for (int i = 0; (i <= repetitions || spent < repetitions * kBudgetNs) && !(cancel && *cancel);
       ++i) {
    const Clock::time_point start = Clock::now();
    fn();
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    spent += ns;
    if (i > 0) best = std::min(best, ns);  // the first one warms up
  }
  return best;
}

// Every thread reads its share of `bytes`, in whole runs of 1 KiB.
class Reader {
 public:
  Reader(const DeviceInfo& cpu, ThreadPool& pool, const void* buffer)
      : sum_(WidestSum(cpu)), pool_(pool), words_(static_cast<const std::uint64_t*>(buffer)) {}

  void Read(std::uint64_t bytes) {
    const auto count = static_cast<std::int64_t>(bytes / sizeof(std::uint64_t));
    pool_.Run(pool_.threads(), [&](Part part) {
      const Range range = Share(count, part, 128);
      used_ += sum_(words_ + range.begin, static_cast<std::size_t>(range.end - range.begin));
    });
  }

 private:
  SumFn* sum_;
  ThreadPool& pool_;
  const std::uint64_t* words_;
  std::atomic<std::uint64_t> used_ = 0;  // keeps the sums from being left out
};

// A call takes what waking the threads takes, as a kernel's does.
ReadRate RateOf(Reader& reader, std::uint64_t bytes, int repetitions,
                const std::atomic<bool>* cancel) {
  const double once_ns = BestNs(1, cancel, [&] { reader.Read(bytes); });
  const int passes = std::clamp(static_cast<int>(kShortNs / once_ns), 1, 10000);
  const double ns = BestNs(repetitions, cancel, [&] {
    for (int i = 0; i < passes; ++i) reader.Read(bytes);
  });
  return {bytes, static_cast<double>(bytes) * passes / ns};
}

// Best rate of `rounds` on all threads, in 10^9 operations a second.
double Peak(const Rounds& rounds, ThreadPool& pool, int repetitions,
            const std::atomic<bool>* cancel) {
  std::atomic<std::uint64_t> used = 0;
  const double ns = BestNs(repetitions, cancel, [&] {
    pool.Run(pool.threads(),
             [&](Part) { used += static_cast<std::uint64_t>(rounds.run(kRounds)); });
  });
  return 2.0 * rounds.lanes * kChains * static_cast<double>(kRounds) * pool.threads() / ns;
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
  Reader reader(cpu, pool, buffer);
  for (std::uint64_t bytes = kSmallestRead; bytes < buffer_bytes / 2; bytes *= 4) {
    peaks.reads.push_back(RateOf(reader, bytes, repetitions, cancel));
  }
  peaks.reads.push_back(RateOf(reader, buffer_bytes, repetitions, cancel));
  memory->Free(buffer);
  peaks.memory_gb_per_s = peaks.reads.back().gb_per_s;
  peaks.f32_gflops = Peak(WidestRounds(cpu), pool, repetitions, cancel);
  if (const Rounds bytes = ByteRounds(cpu); bytes.run) {
    peaks.int8_gops = Peak(bytes, pool, repetitions, cancel);
  }
  if (cancel && *cancel) return Status(Code::kInterrupted, "interrupted while measuring peaks");
  return peaks;
}

double ReadRateAt(const MachinePeaks& peaks, std::uint64_t bytes) {
  const auto above = std::find_if(peaks.reads.begin(), peaks.reads.end(),
                                  [&](const ReadRate& rate) { return rate.bytes >= bytes; });
  if (above == peaks.reads.end()) return peaks.reads.back().gb_per_s;
  if (above == peaks.reads.begin()) return above->gb_per_s;
  const ReadRate& below = *(above - 1);
  const double part =
      std::log(static_cast<double>(bytes) / static_cast<double>(below.bytes)) /
      std::log(static_cast<double>(above->bytes) / static_cast<double>(below.bytes));
  return below.gb_per_s * std::pow(above->gb_per_s / below.gb_per_s, part);
}

}  // namespace vt
