// What template expressions compute with: Python's types as far as a template can see them.
//
// Values are immutable once made (the sandbox refuses append and the like), so copies share.
// Nesting is bounded, which bounds every recursion over values and their release.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace vt::chat {

__extension__ typedef __int128 Int;  // every JSON integer fits; overflow is an error

class Value;
class Object;
struct Undef;
struct Str;
struct Seq;
class Dict;
using StrPtr = std::shared_ptr<const Str>;
using SeqPtr = std::shared_ptr<const Seq>;
using DictPtr = std::shared_ptr<const Dict>;
using ObjectPtr = std::shared_ptr<Object>;

enum class Type : std::uint8_t {
  kMissing,  // a variable without value; never seen by an expression
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kSeq,
  kDict,
  kObject,
};

class Value {
 public:
  Value() = default;
  static Value None() { return Value(std::in_place_index<2>); }
  static Value Bool(bool b) { return Value(std::in_place_index<3>, b); }
  static Value Integer(Int i) { return Value(std::in_place_index<4>, i); }
  static Value Size(std::size_t n) { return Integer(static_cast<Int>(n)); }
  static Value Float(double d) { return Value(std::in_place_index<5>, d); }
  static Value String(std::string text);
  static Value String(StrPtr text) { return Value(std::in_place_index<6>, std::move(text)); }
  static Value Markup(std::string text);
  static Value List(std::vector<Value> items);
  static Value Tuple(std::vector<Value> items);
  static Value Iterator(std::vector<Value> items);
  static Value Of(Seq seq);  // sets depth; fails when too deep
  static Value Of(Dict dict);
  static Value Of(ObjectPtr object) { return Value(std::in_place_index<9>, std::move(object)); }
  static Value Of(Undef undef);

  Type type() const { return static_cast<Type>(data_.index()); }
  bool is(Type t) const { return type() == t; }
  bool missing() const { return is(Type::kMissing); }
  bool undefined() const { return is(Type::kUndefined); }
  bool none() const { return is(Type::kNone); }
  bool is_string() const { return is(Type::kString); }
  // bool, int or float; a bool counts as 0 or 1 as in Python.
  bool is_number() const { return is_integral() || is(Type::kFloat); }
  bool is_integral() const { return is(Type::kInt) || is(Type::kBool); }

  bool boolean() const { return std::get<3>(data_); }
  Int integer() const { return is(Type::kBool) ? Int{boolean()} : std::get<4>(data_); }
  double number() const;
  const std::string& str() const;
  const StrPtr& str_ptr() const { return std::get<6>(data_); }
  const Seq& seq() const { return *std::get<7>(data_); }
  const SeqPtr& seq_ptr() const { return std::get<7>(data_); }
  const Dict& dict() const { return *std::get<8>(data_); }
  const DictPtr& dict_ptr() const { return std::get<8>(data_); }
  Object& object() const { return *std::get<9>(data_); }
  const ObjectPtr& object_ptr() const { return std::get<9>(data_); }
  const Undef& undef() const { return *std::get<1>(data_); }

 private:
  struct NoneTag {};
  using Data = std::variant<std::monostate, std::shared_ptr<const Undef>, NoneTag, bool, Int,
                            double, StrPtr, SeqPtr, DictPtr, ObjectPtr>;
  template <std::size_t kIndex, class... Args>
  explicit Value(std::in_place_index_t<kIndex> index, Args&&... args)
      : data_(index, std::forward<Args>(args)...) {}
  Data data_;
};

struct Str {
  std::string text;
  bool markup = false;  // passed `safe` or `escape`
};

enum class SeqKind : std::uint8_t {
  kList,
  kTuple,
  kGroup,  // a pair made by groupby: a tuple with .grouper and .list
  kRange,
  kKeys,
  kValues,
  kItems,
  kIterator,  // can be walked once
};

struct Seq {
  SeqKind kind = SeqKind::kList;
  std::vector<Value> items;
  std::array<std::int64_t, 3> range{};  // kRange: start, stop, step
  mutable std::size_t next = 0;         // kIterator: the first item not used up
  int depth = 1;
};

// Keys in order of insertion. Keys are compared as Python does (1 == 1.0 == True).
class Dict {
 public:
  using Item = std::pair<Value, Value>;
  const std::vector<Item>& items() const { return items_; }
  std::size_t size() const { return items_.size(); }
  const Value* Find(const Value& key) const;  // fails for keys that have no hash
  const Value* Find(std::string_view key) const;
  void Set(Value key, Value value);
  int depth() const { return depth_; }

 private:
  std::size_t Position(const Value& key) const;
  std::vector<Item> items_;
  std::unordered_multimap<std::size_t, std::uint32_t> index_;  // kept once there are many
  int depth_ = 1;
};

// What a failed look-up gives: empty when printed, an error when used.
struct Undef {
  std::string hint;             // the whole message, or:
  const char* owner = nullptr;  // type of the object that lacks it; null: a variable
  std::string name;             // attribute, variable, or an element's repr
  bool element = false;
  std::string Message() const;
};

// Everything else: namespaces, macros, loop variables, functions.
class Object {
 public:
  virtual ~Object() = default;
  virtual const char* TypeName() const = 0;
  virtual std::string Repr() const = 0;
  virtual bool Callable() const { return false; }
  // Drops what it refers to. Objects that can be part of a cycle are kept by the interpreter to
  // the end of the render, and cleared then; they have depth 0.
  virtual void Clear() {}
  int depth = 0;
};

int Depth(const Value& v);
// Fails when a value of that depth is too deep to make.
void CheckDepth(int depth);
const char* TypeName(const Value& v);
bool Truthy(const Value& v);
bool IsMarkup(const Value& v);
// Fails with the undefined value's own message.
[[noreturn]] void FailUndefined(const Value& v);

// Items of anything iterable: chars of strings, keys of dicts; an iterator is used up. Fails for
// the rest as Python does.
class Items {
 public:
  explicit Items(const Value& v);
  std::size_t size() const { return size_; }
  const Value& operator[](std::size_t i) const { return first_[i]; }
  const Value* begin() const { return first_; }
  const Value* end() const { return first_ + size_; }
  std::vector<Value> ToVector() const { return {begin(), end()}; }
  // For iterators: gives back what lies behind the first `used` items.
  void UsedOnly(std::size_t used) const;

 private:
  SeqPtr held_;
  std::vector<Value> own_;
  const Value* first_ = nullptr;
  std::size_t size_ = 0;
};

bool IsIterable(const Value& v);
// len(): -1 for what has none.
std::int64_t Length(const Value& v);

}  // namespace vt::chat
