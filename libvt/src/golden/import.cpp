#include "golden/import.h"

#include <algorithm>

#include "base/json.h"
#include "golden/import_answer.h"
#include "golden/json_read.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

// One answer, an array, or one a line.
Result<ordered_json> ReadAnswers(std::string_view text) {
  Result<ordered_json> whole = ParseJsonWithByte(text);
  if (whole.ok()) return whole->is_array() ? *whole : ordered_json::array({*whole});
  if (text.starts_with("data:") || text.starts_with("event:")) {
    return InvalidError("is a stream of events; ask for the answer in one (stream false)");
  }
  ordered_json list = ordered_json::array();
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Result<ordered_json> value = ParseJson(one);
    // A text that does not even begin with a line of its own is one broken document.
    if (!value.ok()) {
      return list.empty() ? whole.status()
                          : value.status().Annotate("line " + std::to_string(line));
    }
    list.push_back(std::move(*value));
  }
  return list;
}

// What a server says instead of an answer.
Status CheckNoError(const ordered_json& response, const std::string& at) {
  const ordered_json* error = Find(response, "error");
  if (!error) return {};
  const ordered_json* message = Find(*error, "message");
  const std::string said = message && message->is_string() ? message->get<std::string>() : "";
  return JsonError(Below(at, "error"), "the program gave no answer but an error: " +
                                           (said.empty() ? error->dump() : said));
}

// The documents that one entry of the file holds.
struct Sent {
  const ordered_json* request = nullptr;
  const ordered_json* name = nullptr;
  std::vector<std::pair<const ordered_json*, std::string>> responses;  // with their places
};

Sent Unwrap(const ordered_json& one, const std::string& at) {
  Sent sent;
  const ordered_json* wrapped = Find(one, "response");
  sent.request = Find(one, "request");
  sent.name = Find(one, "name");
  if (wrapped && wrapped->is_array()) {  // llama-server, of several prompts
    const std::string place = Below(at, "response");
    for (std::size_t i = 0; i < wrapped->size(); ++i) {
      sent.responses.emplace_back(&(*wrapped)[i], Below(place, i));
    }
  } else if (wrapped) {
    sent.responses.emplace_back(wrapped, Below(at, "response"));
  } else {
    sent.responses.emplace_back(&one, at);
  }
  return sent;
}

using TakeForm = Status (*)(Answer*);

// The case that answer `index` of `count` in a response is.
Result<GoldenCase> ReadCase(TakeForm take, Answer answer) {
  VT_RETURN_IF_ERROR(TakePrompt(&answer));
  if (answer.golden.prompt.empty()) return JsonError(answer.at, "the prompt has no tokens");
  VT_RETURN_IF_ERROR(CheckPromptCount(answer));
  VT_RETURN_IF_ERROR(take(&answer));
  if (answer.golden.generated.empty()) return JsonError(answer.at, "the answer has no tokens");
  return std::move(answer.golden);
}

}  // namespace

Result<Golden> ImportGolden(std::string_view form, std::string_view text,
                            const Tokenizer* tokenizer, const ConversationTokens& conversation) {
  const std::map<std::string_view, TakeForm> forms = {{"llama-server", TakeLlamaServer},
                                                      {"vllm", TakeVllm},
                                                      {"openai-logprobs", TakeOpenAi},
                                                      {"hf", TakeHf}};
  const auto take = forms.find(form);
  if (take == forms.end()) return InvalidError("\"" + ValidUtf8(form) + "\" is no known form");
  VT_ASSIGN_OR_RETURN(const ordered_json answers, ReadAnswers(text));
  if (answers.empty()) return InvalidError("holds no answer");
  TokenTexts texts(tokenizer);
  Golden golden;
  golden.oracle.name = std::string(form);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string at = answers.size() == 1 ? "" : Below("", i);
    const Sent sent = Unwrap(answers[i], at);
    const std::string name = sent.name && sent.name->is_string()
                                 ? sent.name->get<std::string>()
                                 : "answer-" + std::to_string(i + 1);
    const std::size_t prompts = PromptCount(sent.request);
    const bool apart = sent.responses.size() != 1;  // a response for each prompt
    if (apart && sent.responses.size() != prompts) {
      return JsonError(Below(at, "response"), "has " + std::to_string(sent.responses.size()) +
                                                  " answers for " + std::to_string(prompts) +
                                                  " prompts; ask for one answer of each (n 1)");
    }
    for (std::size_t k = 0; k < prompts; ++k) {
      const auto& [response, place] = sent.responses[apart ? k : 0];
      if (!response->is_object()) return JsonError(place, "an answer must be an object");
      VT_RETURN_IF_ERROR(CheckNoError(*response, place));
      Answer answer{*response,           sent.request, place,        k,
                    apart ? 1 : prompts, texts,        conversation, {}};
      answer.golden.name = prompts == 1 ? name : name + "-" + std::to_string(k + 1);
      VT_ASSIGN_OR_RETURN(GoldenCase one, ReadCase(take->second, std::move(answer)));
      golden.cases.push_back(std::move(one));
    }
  }
  return golden;
}

}  // namespace vt
