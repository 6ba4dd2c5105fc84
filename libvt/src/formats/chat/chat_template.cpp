#include "vt/chat_template.h"

#include <exception>
#include <new>
#include <utility>

#include "formats/chat/ast.h"
#include "formats/chat/budget.h"
#include "formats/chat/interp.h"
#include "formats/chat/parser.h"
#include "formats/chat/scope.h"

namespace vt {
namespace {

using chat::Value;
using nlohmann::ordered_json;

Value ToValue(const ordered_json& json, int depth) {
  chat::CheckDepth(depth);
  switch (json.type()) {
    case ordered_json::value_t::boolean:
      return Value::Bool(json.get<bool>());
    case ordered_json::value_t::number_integer:
      return Value::Integer(json.get<std::int64_t>());
    case ordered_json::value_t::number_unsigned:
      return Value::Integer(static_cast<chat::Int>(json.get<std::uint64_t>()));
    case ordered_json::value_t::number_float:
      return Value::Float(json.get<double>());
    case ordered_json::value_t::string:
      return Value::String(json.get_ref<const std::string&>());
    case ordered_json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const ordered_json& item : json) items.push_back(ToValue(item, depth + 1));
      return Value::List(std::move(items));
    }
    case ordered_json::value_t::object: {
      chat::Dict dict;
      for (const auto& [key, item] : json.items()) {
        dict.Set(Value::String(key), ToValue(item, depth + 1));
      }
      return Value::Of(std::move(dict));
    }
    default:
      return Value::None();
  }
}

Status ToStatus(const chat::TemplateError& error) {
  std::string message = "chat template: ";
  if (!error.raised && error.line > 0) message += "line " + std::to_string(error.line) + ": ";
  return InvalidError(message + error.message);
}

}  // namespace

struct ChatTemplate::Impl {
  chat::Program program;
};

ChatTemplate::ChatTemplate() : impl_(std::make_unique<Impl>()) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::Parse(std::string_view source) {
  ChatTemplate result;
  try {
    result.impl_->program = chat::ParseTemplate(source);
    chat::ResolveNames(result.impl_->program);
  } catch (const chat::TemplateError& error) {
    return ToStatus(error);
  } catch (const std::bad_alloc&) {
    return NoMemoryError("chat template: out of memory while parsing");
  } catch (const std::exception& error) {
    return InternalError(std::string("chat template: ") + error.what());
  }
  return result;
}

Result<std::string> ChatTemplate::Render(const ordered_json& context,
                                         const RenderOptions& options) const {
  if (!context.is_object()) {
    return InvalidError("chat template: the context must be an object");
  }
  try {
    const Value variables = ToValue(context, 0);
    const chat::Budget budget(options.max_steps, options.max_output_bytes);
    chat::Interp interp(variables.dict(), options.now);
    return interp.Run(impl_->program);
  } catch (const chat::TemplateError& error) {
    return ToStatus(error);
  } catch (const std::bad_alloc&) {
    return NoMemoryError("chat template: out of memory while rendering");
  } catch (const std::exception& error) {
    return InternalError(std::string("chat template: ") + error.what());
  }
}

}  // namespace vt
