// Reads the values of a profile one by one and remembers the first thing that is wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vt/device.h"
#include "vt/status.h"

namespace vt {

// A value of the document and its JSON pointer. A value that is absent has a null `json`.
struct JsonPlace {
  const nlohmann::ordered_json* json = nullptr;
  std::string at;

  bool given() const { return json && !json->is_null(); }
};

// After the first error every call still returns a harmless value, so that callers need to look at
// status() only once, at their end.
class ProfileReader {
 public:
  const Status& status() const { return status_; }
  void Fail(const std::string& at, const std::string& message);

  // The member of an object that Keys has looked at.
  JsonPlace Member(const JsonPlace& object, const std::string& key) const;
  // Whether this is an object with all `required` keys and no others than those and `optional`.
  bool Keys(const JsonPlace& object, std::initializer_list<std::string_view> required,
            std::initializer_list<std::string_view> optional = {});
  // The elements of an array; none when absent or null.
  std::vector<JsonPlace> Elements(const JsonPlace& array);

  std::string Text(const JsonPlace& place);  // not empty
  bool Flag(const JsonPlace& place);
  std::uint64_t Whole(const JsonPlace& place, std::uint64_t least);
  int Count(const JsonPlace& place, std::uint64_t least = 1);  // at most 2^20
  // The members of an object with their names; none when absent or null.
  std::vector<std::pair<std::string, JsonPlace>> Members(const JsonPlace& object);
  // The texts of an array, each given once.
  std::vector<std::string> Texts(const JsonPlace& array);

  // {"value": X, "source": "..."}; null or absent: not known.
  MemoryFact Bytes(const JsonPlace& place);
  Figure Rate(const JsonPlace& place);  // greater than 0
  Answer YesOrNo(const JsonPlace& place);
  std::map<std::string, Figure> ComputeRates(const JsonPlace& place);

 private:
  // The value of a fact when it has one; its source, if any, goes to `source`.
  std::optional<JsonPlace> FactValue(const JsonPlace& fact, std::string& source);

  Status status_;
};

}  // namespace vt
