#include "place/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

namespace vt {
namespace {

// An instance like a model: an input, layers of a mixer, a feed-forward and (of some) experts, an
// output; devices that differ in speed, one of them the host.
class Instances {
 public:
  explicit Instances(unsigned seed) : random_(seed) {}

  SearchProblem Make(int layers, int devices, double experts, double tightness) {
    SearchProblem p;
    p.host = 0;
    std::vector<double> speed;
    for (int d = 0; d < devices; ++d) {
      speed.push_back(d == 0 ? 1.0 : Real(0.7, 12.0));
      p.base_bytes.push_back(Whole(0, 50));
      p.base_work.push_back(0);
    }
    if (devices > 2 && Whole(0, 2) == 0) speed[2] = speed[1];
    std::uint64_t total = 0;
    const auto unit = [&](int block, bool apart, int work, std::uint64_t bytes) {
      SearchUnit u;
      u.block = block;
      u.apart = apart;
      u.work = work;
      const double weight = static_cast<double>(bytes) * (apart ? Real(0.05, 0.4) : 1.0);
      for (int d = 0; d < devices; ++d) {
        const std::size_t i = static_cast<std::size_t>(d);
        const bool expands = d > 0 && Whole(0, 9) == 0;
        const bool lacks = d > 0 && Whole(0, 24) == 0;
        u.bytes.push_back(expands ? bytes * 4 : bytes);
        u.seconds.push_back(lacks ? kCannotRun : (expands ? 3 : 1) * weight / speed[i] * 1e-6);
      }
      total += bytes;
      p.units.push_back(u);
      return static_cast<int>(p.units.size()) - 1;
    };
    const double latency = Real(0, 40) * 1e-6;
    const auto edge = [&](int from, int to, double trips) {
      SearchEdge e{from, to, std::vector<double>(static_cast<std::size_t>(devices * devices))};
      for (int a = 0; a < devices; ++a) {
        for (int b = 0; b < devices; ++b) {
          const double hops = a == b ? 0 : a == 0 || b == 0 ? 1 : 2;
          e.seconds[static_cast<std::size_t>(a * devices + b)] = trips * latency * hops;
        }
      }
      p.edges.push_back(e);
    };
    int last = unit(0, false, 0, Whole(1, 200));
    std::vector<int> mixers;
    for (int l = 0; l < layers; ++l) {
      const int mixer = unit(l + 1, false, 1 + static_cast<int>(Whole(0, 1)), Whole(20, 120));
      const int ffn = unit(l + 1, false, 3, Whole(20, 200));
      edge(last, mixer, 1);
      edge(mixer, ffn, 1);
      if (Real(0, 1) < experts) edge(ffn, unit(l + 1, true, 4, Whole(100, 900)), 2);
      mixers.push_back(mixer);
      last = ffn;
    }
    if (layers > 2 && Whole(0, 2) == 0) {
      p.units[static_cast<std::size_t>(mixers[0])].tie = 0;
      p.units[static_cast<std::size_t>(mixers.back())].tie = 0;
    }
    edge(last, unit(layers + 1, false, 5, Whole(50, 300)), 1);
    for (int d = 0; d < devices; ++d) {
      const double share = d == 0 ? 0.9 : Real(0.15, 0.8);
      p.limits.push_back(
          {{d}, static_cast<std::uint64_t>(share * tightness * static_cast<double>(total))});
    }
    if (devices > 1 && Whole(0, 3) == 0) {  // an integrated device beside its host
      p.limits.push_back({{0, 1}, static_cast<std::uint64_t>(1.1 * static_cast<double>(total))});
    }
    std::vector<std::uint64_t> sizes;
    for (int k = 0; k < 6; ++k) sizes.push_back(Whole(0, 40));
    p.work_bytes = [sizes](int device, std::uint64_t kinds) {
      std::uint64_t most = 0, sum = 0;
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        if ((kinds >> k & 1) == 0) continue;
        most = std::max(most, sizes[k]);
        sum += sizes[k] / 4;
      }
      return most + sum + static_cast<std::uint64_t>(kinds != 0 ? device : 0);
    };
    return p;
  }

  std::uint64_t Whole(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random_);
  }
  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

 private:
  std::mt19937 random_;
};

// Every answer there is, looked at. Infinite: none fits.
double BruteForce(const SearchProblem& p) {
  std::vector<int> device(p.units.size());
  double best = kCannotRun;
  for (;;) {
    const double seconds = SecondsOf(p, device);
    if (seconds < best && ExcessOf(p, BytesOf(p, device)) == 0) best = seconds;
    std::size_t i = 0;
    while (i < device.size() && ++device[i] == p.devices()) device[i++] = 0;
    if (i == device.size()) return best;
  }
}

// llama.cpp's way: the last `offloaded` blocks go to the accelerators in proportion to their
// memory, the others and the experts of the first `cpu_moe` blocks stay on the host.
std::vector<int> FillInOrder(const SearchProblem& p, int offloaded, int cpu_moe) {
  const int last = p.units.back().block;
  std::vector<double> room;
  for (int d = 1; d < p.devices(); ++d) {
    room.push_back(static_cast<double>(p.limits[static_cast<std::size_t>(d)].bytes));
  }
  double all = 0;
  for (const double r : room) all += r;
  std::vector<int> device;
  for (const SearchUnit& unit : p.units) {
    const int first = last + 1 - offloaded;
    int d = 0;
    if (unit.block >= first && !(unit.apart && unit.block < cpu_moe)) {
      double place = static_cast<double>(unit.block - first) / offloaded * all;
      d = 1;
      while (d < p.devices() - 1 && place >= room[static_cast<std::size_t>(d - 1)]) {
        place -= room[static_cast<std::size_t>(d - 1)];
        ++d;
      }
    }
    device.push_back(d);
  }
  return device;
}

void ExpectHonest(const SearchProblem& p, const SearchAnswer& answer) {
  ASSERT_EQ(answer.device.size(), p.units.size());
  EXPECT_DOUBLE_EQ(answer.seconds, SecondsOf(p, answer.device));
  EXPECT_EQ(answer.bytes, BytesOf(p, answer.device));
  EXPECT_EQ(answer.fits, ExcessOf(p, answer.bytes) == 0 && answer.seconds < kCannotRun);
  if (answer.fits) {
    EXPECT_LE(answer.bound, answer.seconds * (1 + 1e-9));
  }
}

TEST(Search, IsWithinOnePercentOfBruteForce) {
  Instances instances(7);
  int fitted = 0, exact = 0, refused = 0;
  for (int i = 0; i < 600; ++i) {
    const int devices = i % 3 == 0 ? 2 : 3;
    const int layers = static_cast<int>(instances.Whole(1, devices == 2 ? 3 : 2));
    const SearchProblem p =
        instances.Make(layers, devices, instances.Real(0, 1), instances.Real(0.7, 1.8));
    const SearchAnswer answer = Search(p);
    ExpectHonest(p, answer);
    const double best = BruteForce(p);
    ASSERT_EQ(answer.fits, best < kCannotRun) << "instance " << i;
    exact += answer.exact;
    if (answer.fits) {
      ++fitted;
      EXPECT_LE(answer.seconds, best * 1.01) << "instance " << i;
      EXPECT_LE(answer.bound, best * (1 + 1e-9)) << "instance " << i;
    } else {
      ++refused;
    }
  }
  EXPECT_GE(fitted, 350);
  EXPECT_GE(refused, 30);
  EXPECT_EQ(exact, 600);
}

TEST(Search, IsNeverSlowerThanFillingInOrder) {
  Instances instances(11);
  int compared = 0;
  for (int i = 0; i < 40; ++i) {
    const int layers = static_cast<int>(instances.Whole(4, 60));
    const SearchProblem p = instances.Make(layers, static_cast<int>(instances.Whole(2, 4)),
                                           instances.Real(0, 1), instances.Real(0.9, 2.0));
    const SearchAnswer answer = Search(p, {.exact_nodes = 2000});
    ExpectHonest(p, answer);
    for (int offloaded = 0; offloaded <= layers + 2; ++offloaded) {
      for (int cpu_moe = 0; cpu_moe <= layers + 1; ++cpu_moe) {
        const std::vector<int> device = FillInOrder(p, offloaded, cpu_moe);
        const double seconds = SecondsOf(p, device);
        if (seconds == kCannotRun || ExcessOf(p, BytesOf(p, device)) > 0) continue;
        ASSERT_TRUE(answer.fits);
        EXPECT_LE(answer.seconds, seconds * 1.0002) << offloaded << " " << cpu_moe;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

// How far it may be from the best is known: a bound comes with the answer.
TEST(Search, LargeInstancesAreNearTheirBound) {
  Instances instances(13);
  double sum = 0;
  int count = 0;
  for (int i = 0; i < 12; ++i) {
    const SearchProblem p = instances.Make(60, 3, 0.8, instances.Real(1.0, 1.6));
    const SearchAnswer answer = Search(p, {.exact_nodes = 20000});
    if (!answer.fits) continue;
    ExpectHonest(p, answer);
    sum += answer.seconds / answer.bound;
    ++count;
  }
  ASSERT_GE(count, 8);
  EXPECT_LT(sum / count, 1.05);
}

TEST(Search, HundredLayersOnThreeDevicesTakeUnderASecond) {
  Instances instances(17);
  const SearchProblem p = instances.Make(100, 3, 1.0, 1.3);
  const std::clock_t begin = std::clock();  // of this process: others do not count
  const SearchAnswer answer = Search(p);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  ExpectHonest(p, answer);
  RecordProperty("seconds", std::to_string(seconds));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 1.0);
#endif
}

// Two equal accelerators, 48 equal layers, the experts of 24 on the host: both that are needed are
// equally full.
TEST(Search, EqualDevicesGetEqualLoads) {
  SearchProblem p;
  p.host = 0;
  p.base_bytes = {0, 0, 0};
  p.base_work = {0, 0, 0};
  constexpr std::uint64_t kMixer = 60, kFfn = 40, kExperts = 933;
  const auto edge = [&](int from, int to, double trips) {
    SearchEdge e{from, to, std::vector<double>(9)};
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        e.seconds[static_cast<std::size_t>(a * 3 + b)] = a == b ? 0 : trips * 15e-6;
      }
    }
    p.edges.push_back(e);
  };
  int last = -1;
  for (int l = 0; l < 48; ++l) {
    const auto add = [&](std::uint64_t bytes, bool apart, double slower) {
      const double fast = static_cast<double>(bytes) * 1e-6;
      p.units.push_back({.block = l,
                         .apart = apart,
                         .tie = -1,
                         .work = apart ? 1 : 0,
                         .seconds = {fast * slower, fast, fast},
                         .bytes = {bytes, bytes, bytes}});
      return static_cast<int>(p.units.size()) - 1;
    };
    const int mixer = add(kMixer, false, 15);
    const int ffn = add(kFfn, false, 15);
    const int experts = add(kExperts, true, 15);
    if (l < 24) {
      SearchUnit& pinned = p.units[static_cast<std::size_t>(experts)];
      pinned.seconds[1] = pinned.seconds[2] = kCannotRun;
    }
    if (last >= 0) edge(last, mixer, 1);
    edge(mixer, ffn, 1);
    edge(ffn, experts, 2);
    last = ffn;
  }
  p.limits = {{{0}, 64 * 1024}, {{1}, 20 * 1024}, {{2}, 20 * 1024}};
  p.work_bytes = [](int device, std::uint64_t kinds) -> std::uint64_t {
    return device > 0 && kinds != 0 ? 300 : 0;
  };
  const SearchAnswer answer = Search(p);
  ASSERT_TRUE(answer.fits);
  EXPECT_LE(answer.bytes[1], 20u * 1024);
  EXPECT_LE(answer.bytes[2], 20u * 1024);
  const auto apart =
      static_cast<std::int64_t>(answer.bytes[1]) - static_cast<std::int64_t>(answer.bytes[2]);
  EXPECT_LE(std::abs(apart), static_cast<std::int64_t>(kMixer + kFfn + kExperts))
      << answer.bytes[1] << " and " << answer.bytes[2];
  int changes = 0;
  for (std::size_t u = 3; u < p.units.size(); u += 3) {
    changes += answer.device[u] != answer.device[u - 3];
    EXPECT_NE(answer.device[u], 0) << "a mixer that both devices have room for";
  }
  EXPECT_EQ(changes, 1);
}

TEST(Search, SaysThatNothingFitsAndWhatComesNearest) {
  Instances instances(19);
  SearchProblem p = instances.Make(2, 2, 1, 1.5);
  for (SearchLimit& limit : p.limits) limit.bytes = 100;
  const SearchAnswer answer = Search(p);
  EXPECT_FALSE(answer.fits);
  EXPECT_TRUE(answer.exact);
  EXPECT_GT(ExcessOf(p, answer.bytes), 0u);
  EXPECT_EQ(answer.device.size(), p.units.size());
}

TEST(Search, IsTheSameEveryTime) {
  Instances a(23), b(23);
  const SearchAnswer first = Search(a.Make(30, 3, 0.7, 1.2));
  const SearchAnswer second = Search(b.Make(30, 3, 0.7, 1.2));
  EXPECT_EQ(first.device, second.device);
}

}  // namespace
}  // namespace vt
