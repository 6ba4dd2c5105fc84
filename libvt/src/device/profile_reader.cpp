#include "device/profile_reader.h"

#include <algorithm>
#include <set>

#include "base/json.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kMostCount = std::uint64_t{1} << 20;
constexpr double kMostRate = 1e9;
constexpr std::string_view kComputeTypes[] = {"f32", "f16", "bf16", "fp8", "fp4", "int8", "int4"};

std::string At(const std::string& parent, const std::string& key) {
  return (ordered_json::json_pointer(parent) / key).to_string();
}

// A value as a message shows it.
std::string Shown(const ordered_json* value) {
  if (!value) return "nothing";
  return value->is_structured() ? value->type_name() : value->dump();
}

std::string Listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace

void ProfileReader::Fail(const std::string& at, const std::string& message) {
  if (status_.ok()) status_ = JsonError(at, message);
}

JsonPlace ProfileReader::Member(const JsonPlace& object, const std::string& key) const {
  JsonPlace place{nullptr, At(object.at, key)};
  if (!object.json || !object.json->is_object()) return place;
  const auto found = object.json->find(key);
  if (found != object.json->end()) place.json = &*found;
  return place;
}

bool ProfileReader::Keys(const JsonPlace& object, std::initializer_list<std::string_view> required,
                         std::initializer_list<std::string_view> optional) {
  if (!object.json || !object.json->is_object()) {
    Fail(object.at, std::string("must be an object (found ") +
                        (object.json ? object.json->type_name() : "nothing") + ")");
    return false;
  }
  std::vector<std::string_view> known(required);
  known.insert(known.end(), optional);
  for (const auto& [key, unused] : object.json->items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      Fail(At(object.at, key), "unknown key (allowed here: " + Listed(known) + ")");
      return false;
    }
  }
  for (const std::string_view key : required) {
    if (!object.json->contains(key)) {
      Fail(object.at, "lacks \"" + std::string(key) + "\"; add it");
      return false;
    }
  }
  return true;
}

std::vector<JsonPlace> ProfileReader::Elements(const JsonPlace& array) {
  std::vector<JsonPlace> places;
  if (!array.given()) return places;
  if (!array.json->is_array()) {
    Fail(array.at, std::string("must be an array (found ") + array.json->type_name() + ")");
    return places;
  }
  for (const ordered_json& element : *array.json) {
    places.push_back({&element, At(array.at, std::to_string(places.size()))});
  }
  return places;
}

std::vector<std::pair<std::string, JsonPlace>> ProfileReader::Members(const JsonPlace& object) {
  std::vector<std::pair<std::string, JsonPlace>> members;
  if (!object.given()) return members;
  if (!object.json->is_object()) {
    Fail(object.at, std::string("must be an object (found ") + object.json->type_name() + ")");
    return members;
  }
  for (const auto& [name, value] : object.json->items()) {
    members.emplace_back(name, JsonPlace{&value, At(object.at, name)});
  }
  return members;
}

std::string ProfileReader::Text(const JsonPlace& place) {
  if (place.json && place.json->is_string() && !place.json->get_ref<const std::string&>().empty()) {
    return place.json->get<std::string>();
  }
  Fail(place.at, "must be a text that is not empty");
  return {};
}

bool ProfileReader::Flag(const JsonPlace& place) {
  if (place.json && place.json->is_boolean()) return place.json->get<bool>();
  Fail(place.at, "must be true or false");
  return false;
}

std::uint64_t ProfileReader::Whole(const JsonPlace& place, std::uint64_t least) {
  if (place.json && place.json->is_number_unsigned() && place.json->get<std::uint64_t>() >= least) {
    return place.json->get<std::uint64_t>();
  }
  Fail(place.at, "must be a whole number of at least " + std::to_string(least) + " (found " +
                     Shown(place.json) + ")");
  return least;
}

int ProfileReader::Count(const JsonPlace& place, std::uint64_t least) {
  const std::uint64_t count = Whole(place, least);
  if (count <= kMostCount) return static_cast<int>(count);
  Fail(place.at, std::to_string(count) + " is more than any machine has (at most " +
                     std::to_string(kMostCount) + ")");
  return static_cast<int>(least);
}

std::vector<std::string> ProfileReader::Texts(const JsonPlace& array) {
  std::vector<std::string> texts;
  std::set<std::string> seen;
  for (const JsonPlace& element : Elements(array)) {
    texts.push_back(Text(element));
    if (!seen.insert(texts.back()).second) {
      Fail(element.at, "\"" + texts.back() + "\" is given twice");
    }
  }
  return texts;
}

std::optional<JsonPlace> ProfileReader::FactValue(const JsonPlace& fact, std::string& source) {
  if (!fact.given() || !Keys(fact, {"value"}, {"source"})) return std::nullopt;
  const JsonPlace from = Member(fact, "source");
  if (from.given()) source = Text(from);
  JsonPlace value = Member(fact, "value");
  if (!value.given()) return std::nullopt;
  if (!from.given()) {
    Fail(fact.at, "a value needs a \"source\"; say where it was read, or make the value null");
    return std::nullopt;
  }
  return value;
}

MemoryFact ProfileReader::Bytes(const JsonPlace& place) {
  MemoryFact fact;
  if (const auto value = FactValue(place, fact.source)) fact.bytes = Whole(*value, 0);
  return fact;
}

Figure ProfileReader::Rate(const JsonPlace& place) {
  Figure figure;
  const auto value = FactValue(place, figure.source);
  if (!value) return figure;
  if (!value->json->is_number() || value->json->get<double>() <= 0 ||
      value->json->get<double>() > kMostRate) {
    Fail(value->at,
         "must be a number greater than 0 and at most 1e9 (found " + Shown(value->json) + ")");
    return figure;
  }
  figure.value = value->json->get<double>();
  return figure;
}

Answer ProfileReader::YesOrNo(const JsonPlace& place) {
  Answer answer;
  if (const auto value = FactValue(place, answer.source)) answer.yes = Flag(*value);
  return answer;
}

std::map<std::string, Figure> ProfileReader::ComputeRates(const JsonPlace& place) {
  std::map<std::string, Figure> rates;
  if (!place.given()) return rates;
  if (!place.json->is_object()) {
    Fail(place.at, std::string("must be an object (found ") + place.json->type_name() + ")");
    return rates;
  }
  for (const auto& [type, unused] : place.json->items()) {
    const JsonPlace rate = Member(place, type);
    if (std::find(std::begin(kComputeTypes), std::end(kComputeTypes), type) ==
        std::end(kComputeTypes)) {
      Fail(rate.at, "unknown key (allowed here: " +
                        Listed({std::begin(kComputeTypes), std::end(kComputeTypes)}) + ")");
      break;
    }
    rates.emplace(type, Rate(rate));
  }
  return rates;
}

}  // namespace vt
