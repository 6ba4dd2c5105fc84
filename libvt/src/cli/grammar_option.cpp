#include "cli/grammar_option.h"

#include "base/json.h"

namespace vt::cli {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool IsSchemaText(std::string_view text) {
  text = Trimmed(text);
  return text.starts_with('{') || text == "true" || text == "false";
}

// The file's bytes, or an error that also says how the text itself is told from a file's name.
Result<std::string> ReadFileOf(const std::string& flag, const std::string& path,
                               const std::string& text_form, const std::atomic<bool>& interrupted) {
  if (path.empty() || path == "-") {
    return InvalidError(flag + ": give a file's name, or " + text_form);
  }
  Result<std::string> text = ReadInput(path, interrupted);
  if (text.ok() || text.status().code() == Code::kInterrupted) return text;
  const Status& status = text.status();
  return Status(status.code(),
                flag + ": " + status.message() + " (taken for a file's name; " + text_form +
                    " is taken for itself)",
                status.at());
}

}  // namespace

Result<std::optional<Grammar>> ReadGrammar(const RunOptions& options,
                                           const std::atomic<bool>& interrupted) {
  if (!options.grammar && !options.json_schema) return std::optional<Grammar>();
  const std::string flag = options.grammar ? "--grammar" : "--json-schema";
  const std::string& value = options.grammar ? *options.grammar : *options.json_schema;
  std::string text = value;
  std::string subject = flag;
  const bool is_text =
      options.grammar ? value.find("::=") != std::string::npos : IsSchemaText(value);
  if (!is_text) {
    VT_ASSIGN_OR_RETURN(text, ReadFileOf(flag, value,
                                         options.grammar ? "a grammar, which has ::= in it,"
                                                         : "a schema, which starts with {,",
                                         interrupted));
    subject += " " + value;
  }
  if (options.json_schema) {
    Result<std::string> gbnf = JsonSchemaToGbnf(text);
    if (!gbnf.ok()) return gbnf.status().Annotate(subject);
    text = std::move(*gbnf);
  }
  Result<Grammar> grammar = ParseGbnf(text);
  if (!grammar.ok()) return grammar.status().Annotate(subject);
  return std::optional<Grammar>(std::move(*grammar));
}

}  // namespace vt::cli
