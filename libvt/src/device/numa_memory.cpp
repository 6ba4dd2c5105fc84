#include "device/numa_memory.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "device/sysfs.h"

namespace vt {
namespace {

using Nodes = std::vector<int>;  // ascending

std::string FolderOf(int node) { return "/sys/devices/system/node/node" + std::to_string(node); }

std::optional<std::uint64_t> NodeBytes(const std::string& root, int node, std::string_view key) {
  return ReadKilobytes(root + FolderOf(node) + "/meminfo", "Node " + std::to_string(node) + " ",
                       key);
}

std::optional<Nodes> CpusetNodes(const std::string& root) {
  for (const std::string& line : ReadLines(root + "/proc/self/status")) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() == 2 && words[0] == "Mems_allowed_list:") return ParseCpuList(words[1]);
  }
  return std::nullopt;
}

// Of "bind:0-1", "bind=static:3"; every other policy lets memory come from elsewhere. The file is
// read to its first line alone: each further one costs the kernel a walk over pages.
std::optional<Nodes> PolicyNodes(const std::string& root) {
  std::array<char, 256> buffer;
  std::ifstream file;
  file.rdbuf()->pubsetbuf(buffer.data(), buffer.size());
  file.open(root + "/proc/self/numa_maps");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::vector<std::string_view> words = Words(line);
  if (words.size() < 2) return std::nullopt;
  const std::size_t colon = words[1].find(':');
  if (!words[1].starts_with("bind") || colon == std::string_view::npos) return std::nullopt;
  return ParseCpuList(words[1].substr(colon + 1));
}

Nodes NodesWithMemory(const std::string& root) {
  Nodes nodes;
  for (const int node : ReadCpuList(root + "/sys/devices/system/node/online").value_or(Nodes())) {
    if (NodeBytes(root, node, "MemTotal") != 0) nodes.push_back(node);
  }
  return nodes;
}

Nodes Both(const Nodes& a, const Nodes& b) {
  Nodes both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

struct Binding {
  Nodes nodes;
  std::size_t of = 0;  // nodes with memory
  std::string by;      // "Mems_allowed_list of /proc/self/status"
};

// Nothing: no node with memory is out of bounds.
std::optional<Binding> FindBinding(const std::string& root) {
  const Nodes all = NodesWithMemory(root);
  Binding binding;
  binding.of = all.size();
  binding.nodes = all;
  const auto hold = [&](const std::optional<Nodes>& allowed, const char* by) {
    if (!allowed) return;
    Nodes both = Both(binding.nodes, *allowed);
    if (both.empty() || both.size() == binding.nodes.size()) return;
    binding.nodes = std::move(both);
    binding.by = by;
  };
  hold(CpusetNodes(root), "Mems_allowed_list of /proc/self/status");
  hold(PolicyNodes(root), "the policy in /proc/self/numa_maps");
  if (binding.by.empty()) return std::nullopt;
  return binding;
}

std::string TextOf(const Binding& binding) {
  std::string text = binding.nodes.size() == 1 ? "NUMA node " : "NUMA nodes ";
  const char* between = "";
  for (const int node : binding.nodes) {
    text.append(between).append(std::to_string(node));
    between = ",";
  }
  return text.append(" of ").append(std::to_string(binding.of)).append(", by ").append(binding.by);
}

// Of all nodes that the process is bound to, the sum of these lines of their meminfo.
MemoryFact SumOf(const std::string& root, std::initializer_list<std::string_view> keys,
                 const char* what) {
  const std::optional<Binding> binding = FindBinding(root);
  if (!binding) return {};
  std::uint64_t sum = 0;
  for (const int node : binding->nodes) {
    for (const std::string_view key : keys) {
      const auto bytes = NodeBytes(root, node, key);
      if (!bytes) return {};
      sum += *bytes;
    }
  }
  return {sum, std::string(what).append(" of ").append(TextOf(*binding))};
}

}  // namespace

MemoryFact BoundNodesTotal(const std::string& root) {
  return SumOf(root, {"MemTotal"}, "MemTotal");
}

MemoryFact BoundNodesRoom(const std::string& root) {
  return SumOf(root, {"MemFree", "Active(file)", "Inactive(file)"}, "MemFree and file cache");
}

}  // namespace vt
