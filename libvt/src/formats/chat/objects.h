// The objects a template can hold that are not data: namespaces, macros, loops and functions.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/chat/call.h"
#include "formats/chat/value.h"

namespace vt::chat {

struct Env;
struct Stmt;

class Namespace : public Object {
 public:
  const char* TypeName() const override { return "Namespace"; }
  std::string Repr() const override;
  void Clear() override { attributes = {}; }
  Dict attributes;

 private:
  mutable bool in_repr_ = false;
};

// A macro with the variables around its definition.
class Macro : public Object {
 public:
  Macro(const Stmt& definition, Env& around) : stmt(&definition), env(&around) {}
  const char* TypeName() const override { return "Macro"; }
  std::string Repr() const override;
  bool Callable() const override { return true; }
  const Stmt* stmt;
  Env* env;
};

// The variable `loop`, which also walks the items. A condition of the loop is asked item by item,
// as late as possible: the body may change what it depends on.
class Loop : public Object {
 public:
  using Condition = std::function<bool(const Value& item)>;
  Loop(const Value& walked, Condition keep) : items_(walked), keep_(std::move(keep)) {}
  const char* TypeName() const override { return "LoopContext"; }
  std::string Repr() const override;  // asks the condition ahead, as Length does
  bool Callable() const override { return true; }
  void Clear() override;

  bool Next();  // goes on to the next item; false at the end
  void Stop();  // the loop is left: items not walked stay in an iterator
  const Value& current() const { return current_; }
  std::size_t index0() const { return index0_; }
  std::size_t Length();    // asks the condition of all items ahead
  const Value* Peek();     // null: the current item is the last
  Value Previous() const;  // undefined at the first item

  int depth0 = 0;
  Value last_changed;               // what changed() saw last
  const Stmt* recursive = nullptr;  // the statement, where it may be called
  Env* env = nullptr;

 private:
  bool Pull(Value& item);
  Items items_;
  Condition keep_;
  std::size_t at_ = 0;
  std::deque<Value> ahead_;  // pulled, not walked
  Value current_;
  Value before_;
  std::size_t index0_ = 0;
  std::size_t final_length_ = 0;  // once it is stopped
  bool started_ = false;
  bool stopped_ = false;
};

// A function or, with `self`, a bound method.
class Function : public Object {
 public:
  Function(std::string_view fn_name, NativeFn fn, Value bound_to = {});
  const char* TypeName() const override;
  std::string Repr() const override;
  bool Callable() const override { return true; }
  std::string_view name;  // static
  NativeFn call;
  Value self;
};

class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> all);
  const char* TypeName() const override { return "Cycler"; }
  std::string Repr() const override { return "<jinja2.utils.Cycler object>"; }
  std::vector<Value> items;
  std::size_t pos = 0;
};

class Joiner : public Object {
 public:
  explicit Joiner(Value separator);
  const char* TypeName() const override { return "Joiner"; }
  std::string Repr() const override { return "<jinja2.utils.Joiner object>"; }
  bool Callable() const override { return true; }
  Value sep;
  bool used = false;
};

// obj.name: attributes and methods first, then items. Undefined where there is neither; fails
// when obj itself is undefined.
Value GetAttr(const Value& obj, std::string_view name);
// obj[key]: items first, then attributes.
Value GetItem(const Value& obj, const Value& key);
// obj[start:stop:step]; bounds may be missing or none.
Value GetSlice(const Value& obj, const Value& start, const Value& stop, const Value& step);

// Plain attributes; missing where there is none.
Value LoopAttribute(Loop& loop, std::string_view name);
Value MacroAttribute(const Macro& macro, std::string_view name);

Value UndefinedVariable(std::string_view name);
Value UndefinedHint(std::string hint);

struct NamedFn {
  std::string_view name;
  NativeFn call;
};
// Methods by type; null where there is none.
const NamedFn* FindStringMethod(std::string_view name);
const NamedFn* FindDictMethod(std::string_view name);
const NamedFn* FindSeqMethod(SeqKind kind, std::string_view name);
const NamedFn* FindObjectMethod(const Object& object, std::string_view name);

}  // namespace vt::chat
