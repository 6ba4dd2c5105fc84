// Documents with one value spoilt, for readers that must read or refuse whatever they are given.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vt::test {

// Calls `visit(where, text)` with `json` as text, each of its values but those past the first
// `most` of an array replaced by other values or taken out. Returns the number of calls.
inline std::size_t ForEachDamage(
    const nlohmann::ordered_json& json, std::size_t most,
    const std::function<void(const std::string& where, const std::string& text)>& visit) {
  using nlohmann::ordered_json;
  using Pointer = ordered_json::json_pointer;
  std::vector<Pointer> places = {Pointer()};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ordered_json& value = json[places[i]];
    if (value.is_object()) {
      for (const auto& item : value.items()) places.push_back(places[i] / item.key());
    } else if (value.is_array()) {
      for (std::size_t k = 0; k < std::min(most, value.size()); ++k) {
        places.push_back(places[i] / k);
      }
    }
  }
  std::size_t calls = 0;
  const auto call = [&](const Pointer& place, const ordered_json& changed) {
    visit(place.to_string(), changed.dump());
    ++calls;
  };
  for (const Pointer& place : places) {
    for (const ordered_json& other :
         {ordered_json(nullptr), ordered_json(true), ordered_json(-1), ordered_json(1e300),
          ordered_json("x"), ordered_json::array(), ordered_json::array({ordered_json()}),
          ordered_json::object()}) {
      ordered_json changed = json;
      changed[place] = other;
      call(place, changed);
    }
    if (place.empty()) continue;
    ordered_json changed = json;
    ordered_json& parent = changed[place.parent_pointer()];
    if (parent.is_array()) {
      parent.erase(static_cast<std::size_t>(std::stoul(place.back())));
    } else {
      parent.erase(place.back());
    }
    call(place, changed);
  }
  return calls;
}

}  // namespace vt::test
