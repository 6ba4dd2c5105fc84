#include "formats/chat/value.h"

#include <algorithm>
#include <functional>

#include "formats/chat/budget.h"
#include "formats/chat/compare.h"
#include "formats/chat/objects.h"
#include "formats/chat/print.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

constexpr int kMaxDepth = 200;
constexpr std::size_t kScanLimit = 8;  // dicts up to this size are searched without an index

Value MakeSeq(SeqKind kind, std::vector<Value> items) {
  Seq seq;
  seq.kind = kind;
  seq.items = std::move(items);
  return Value::Of(std::move(seq));
}

// What Jinja calls an object of a type that is not Python's own.
std::string QualifiedName(std::string_view type) {
  if (type == "NoneType") return "None";
  const char* module = "";
  if (type == "Namespace" || type == "Cycler" || type == "Joiner") module = "jinja2.utils.";
  if (type == "LoopContext" || type == "Macro") module = "jinja2.runtime.";
  if (type == "_GroupTuple") module = "jinja2.filters.";
  if (type == "Markup") module = "markupsafe.";
  return std::string(module) + std::string(type) + " object";
}

}  // namespace

Value Value::String(std::string text) {
  return String(std::make_shared<const Str>(Str{std::move(text), false}));
}

Value Value::Markup(std::string text) {
  return String(std::make_shared<const Str>(Str{std::move(text), true}));
}

Value Value::List(std::vector<Value> items) { return MakeSeq(SeqKind::kList, std::move(items)); }
Value Value::Tuple(std::vector<Value> items) { return MakeSeq(SeqKind::kTuple, std::move(items)); }
Value Value::Iterator(std::vector<Value> items) {
  return MakeSeq(SeqKind::kIterator, std::move(items));
}

Value Value::Of(Seq seq) {
  ChargeSteps(seq.items.size());
  for (const Value& item : seq.items) seq.depth = std::max(seq.depth, Depth(item) + 1);
  CheckDepth(seq.depth);
  return Value(std::in_place_index<7>, std::make_shared<const Seq>(std::move(seq)));
}

Value Value::Of(Dict dict) {
  ChargeSteps(dict.size());
  CheckDepth(dict.depth());
  return Value(std::in_place_index<8>, std::make_shared<const Dict>(std::move(dict)));
}

Value Value::Of(Undef undef) {
  return Value(std::in_place_index<1>, std::make_shared<const Undef>(std::move(undef)));
}

double Value::number() const {
  return is(Type::kFloat) ? std::get<5>(data_) : static_cast<double>(integer());
}

const std::string& Value::str() const { return std::get<6>(data_)->text; }

std::string Undef::Message() const {
  if (!hint.empty()) return hint;
  if (!owner) return ReprString(name) + " is undefined";
  const std::string type = QualifiedName(owner);
  if (element) return type + " has no element " + name;
  return "'" + type + "' has no attribute " + ReprString(name);
}

std::size_t Dict::Position(const Value& key) const {
  const std::size_t hash = Hash(key);
  if (items_.size() <= kScanLimit) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (Equal(items_[i].first, key)) return i;
    }
    return items_.size();
  }
  const auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (Equal(items_[it->second].first, key)) return it->second;
  }
  return items_.size();
}

const Value* Dict::Find(const Value& key) const {
  const std::size_t at = Position(key);
  return at < items_.size() ? &items_[at].second : nullptr;
}

const Value* Dict::Find(std::string_view key) const {
  const auto is_key = [&](const Item& item) {
    return item.first.is_string() && item.first.str() == key;
  };
  if (items_.size() <= kScanLimit) {
    for (const Item& item : items_) {
      if (is_key(item)) return &item.second;
    }
    return nullptr;
  }
  const auto [first, last] = index_.equal_range(std::hash<std::string_view>()(key));
  for (auto it = first; it != last; ++it) {
    if (is_key(items_[it->second])) return &items_[it->second].second;
  }
  return nullptr;
}

void Dict::Set(Value key, Value value) {
  const std::size_t at = Position(key);
  depth_ = std::max({depth_, Depth(key) + 1, Depth(value) + 1});
  if (at < items_.size()) {
    items_[at].second = std::move(value);
    return;
  }
  items_.emplace_back(std::move(key), std::move(value));
  if (items_.size() == kScanLimit + 1) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      index_.emplace(Hash(items_[i].first), static_cast<std::uint32_t>(i));
    }
  } else if (items_.size() > kScanLimit) {
    index_.emplace(Hash(items_.back().first), static_cast<std::uint32_t>(items_.size() - 1));
  }
}

int Depth(const Value& v) {
  switch (v.type()) {
    case Type::kSeq:
      return v.seq().depth;
    case Type::kDict:
      return v.dict().depth();
    case Type::kObject:
      return v.object().depth;
    default:
      return 0;
  }
}

void CheckDepth(int depth) {
  if (depth > kMaxDepth) {
    Fail("a value nested more than " + std::to_string(kMaxDepth) + " deep");
  }
}

const char* TypeName(const Value& v) {
  switch (v.type()) {
    case Type::kMissing:
    case Type::kUndefined:
      return "Undefined";
    case Type::kNone:
      return "NoneType";
    case Type::kBool:
      return "bool";
    case Type::kInt:
      return "int";
    case Type::kFloat:
      return "float";
    case Type::kString:
      return v.str_ptr()->markup ? "Markup" : "str";
    case Type::kDict:
      return "dict";
    case Type::kObject:
      return v.object().TypeName();
    case Type::kSeq:
      break;
  }
  switch (v.seq().kind) {
    case SeqKind::kList:
      return "list";
    case SeqKind::kTuple:
      return "tuple";
    case SeqKind::kGroup:
      return "_GroupTuple";
    case SeqKind::kRange:
      return "range";
    case SeqKind::kKeys:
      return "dict_keys";
    case SeqKind::kValues:
      return "dict_values";
    case SeqKind::kItems:
      return "dict_items";
    case SeqKind::kIterator:
      break;
  }
  return "generator";
}

bool Truthy(const Value& v) {
  switch (v.type()) {
    case Type::kMissing:
    case Type::kUndefined:
    case Type::kNone:
      return false;
    case Type::kBool:
      return v.boolean();
    case Type::kInt:
      return v.integer() != 0;
    case Type::kFloat:
      return v.number() != 0;
    case Type::kString:
      return !v.str().empty();
    case Type::kSeq:
      return v.seq().kind == SeqKind::kIterator || !v.seq().items.empty();
    case Type::kDict:
      return v.dict().size() != 0;
    case Type::kObject:
      return true;
  }
  return true;
}

bool IsMarkup(const Value& v) { return v.is_string() && v.str_ptr()->markup; }

void FailUndefined(const Value& v) { Fail(v.undef().Message()); }

Items::Items(const Value& v) {
  switch (v.type()) {
    case Type::kUndefined:
      return;
    case Type::kSeq: {
      held_ = v.seq_ptr();
      const std::size_t skip = held_->kind == SeqKind::kIterator ? held_->next : 0;
      first_ = held_->items.data() + skip;
      size_ = held_->items.size() - skip;
      if (held_->kind == SeqKind::kIterator) held_->next = held_->items.size();
      ChargeSteps(size_);
      return;
    }
    case Type::kString: {
      const std::string& text = v.str();
      ChargeSteps(text.size());
      for (std::size_t i = 0; i < text.size();) {
        const std::size_t bytes = DecodeAt(text, i).bytes;
        own_.push_back(Value::String(text.substr(i, bytes)));
        i += bytes;
      }
      break;
    }
    case Type::kDict:
      ChargeSteps(v.dict().size());
      own_.reserve(v.dict().size());
      for (const Dict::Item& item : v.dict().items()) own_.push_back(item.first);
      break;
    default:
      Fail(std::string("'") + TypeName(v) + "' object is not iterable");
  }
  first_ = own_.data();
  size_ = own_.size();
}

void Items::UsedOnly(std::size_t used) const {
  if (held_ && held_->kind == SeqKind::kIterator) {
    held_->next = static_cast<std::size_t>(first_ - held_->items.data()) + used;
  }
}

bool IsIterable(const Value& v) {
  return v.undefined() || v.is_string() || v.is(Type::kSeq) || v.is(Type::kDict) ||
         (v.is(Type::kObject) && dynamic_cast<const Loop*>(&v.object()));
}

std::int64_t Length(const Value& v) {
  switch (v.type()) {
    case Type::kUndefined:
      return 0;
    case Type::kString:
      return static_cast<std::int64_t>(CountChars(v.str()));
    case Type::kDict:
      return static_cast<std::int64_t>(v.dict().size());
    case Type::kSeq:
      if (v.seq().kind == SeqKind::kIterator) return -1;
      return static_cast<std::int64_t>(v.seq().items.size());
    case Type::kObject:
      if (auto* loop = dynamic_cast<Loop*>(&v.object())) {
        return static_cast<std::int64_t>(loop->Length());
      }
      return -1;
    default:
      return -1;
  }
}

}  // namespace vt::chat
