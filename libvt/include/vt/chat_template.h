// Chat templates: a Jinja engine large enough for the templates that model files carry.
//
// Semantics are those of Jinja2 as Hugging Face sets it up: trim_blocks, lstrip_blocks, loop
// controls, {% generation %} blocks, `tojson` with indent, raise_exception, strftime_now, and a
// sandbox. The engine never reads files, never runs code and bounds its work: recursion depth,
// loop steps and output bytes have limits that are errors, not crashes.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "vt/status.h"

namespace vt {

struct RenderOptions {
  // Seconds since 1970 in UTC that strftime_now() answers with.
  std::int64_t now = 0;
  std::uint64_t max_steps = 10'000'000;
  std::uint64_t max_output_bytes = 64u << 20;
};

class ChatTemplate {
 public:
  // Parses; a syntax error is kInvalid with the line number and what was expected.
  static Result<ChatTemplate> Parse(std::string_view source);

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // `context` is an object: messages, tools, add_generation_prompt, bos_token, eos_token and any
  // other variable. Object keys keep their order. Errors are kInvalid: raise_exception's own
  // message ("chat template: <message>"), or what the expression could not do, with its line.
  Result<std::string> Render(const nlohmann::ordered_json& context,
                             const RenderOptions& options = {}) const;

 private:
  ChatTemplate();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vt
