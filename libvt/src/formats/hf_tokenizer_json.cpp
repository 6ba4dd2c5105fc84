#include "formats/hf_tokenizer_json.h"

#include "formats/file_error.h"
#include "formats/json_cursor.h"

namespace vt {
namespace {

using Kind = JsonCursor::Kind;

class Reader {
 public:
  Reader(const std::string& path, const MappedFile& file, TextArena& texts)
      : path_(path),
        text_(reinterpret_cast<const char*>(file.data()), static_cast<std::size_t>(file.size())),
        json_(text_, texts) {}

  Result<HfTokenizerJson> Read();

 private:
  Status ReadComponent(std::optional<HfConfig>& out);
  Status ReadAdded();
  bool ReadModel();
  bool ReadVocab();
  bool ReadMerges();
  bool ReadMerge();
  bool ReadText(std::string_view& out);
  bool ReadFlag(bool& out);
  Status BadJson() const { return FileCorrupt(path_, "not valid: " + json_.error()); }

  const std::string& path_;
  std::string_view text_;
  JsonCursor json_;
  HfTokenizerJson out_;
};

Result<HfTokenizerJson> Reader::Read() {
  json_.EnterObject();
  std::string_view key;
  while (json_.NextKey(key)) {
    if (key == "normalizer") {
      VT_RETURN_IF_ERROR(ReadComponent(out_.normalizer));
    } else if (key == "pre_tokenizer") {
      VT_RETURN_IF_ERROR(ReadComponent(out_.pre_tokenizer));
    } else if (key == "post_processor") {
      VT_RETURN_IF_ERROR(ReadComponent(out_.post_processor));
    } else if (key == "added_tokens") {
      VT_RETURN_IF_ERROR(ReadAdded());
    } else if (key == "model") {
      ReadModel();
    } else {
      json_.Skip();
    }
  }
  if (!json_.Finish()) return BadJson();
  return std::move(out_);
}

Status Reader::ReadComponent(std::optional<HfConfig>& out) {
  const Kind kind = json_.Peek();
  const std::size_t begin = json_.at();
  if (!json_.Skip()) return BadJson();
  if (kind == Kind::kNull) return {};
  VT_ASSIGN_OR_RETURN(out, HfConfig::Parse(path_, text_.substr(begin, json_.at() - begin)));
  return {};
}

Status Reader::ReadAdded() {
  json_.EnterArray();
  while (json_.NextElement()) {
    HfAddedToken token;
    bool has_id = false;
    std::string_view key;
    json_.EnterObject();
    while (json_.NextKey(key)) {
      if (key == "id") {
        has_id = json_.ReadU64(token.id);
      } else if (key == "content") {
        json_.ReadString(token.text);
      } else if (key == "special") {
        json_.ReadBool(token.special);
      } else if (key == "lstrip") {
        json_.ReadBool(token.strip_left);
      } else if (key == "rstrip") {
        json_.ReadBool(token.strip_right);
      } else if (key == "single_word") {
        json_.ReadBool(token.single_word);
      } else {
        json_.Skip();
      }
    }
    if (json_.failed()) return BadJson();
    if (!has_id || token.id >= kHfMaxTokens || token.text.empty()) {
      return FileCorrupt(path_, "added token " + Quoted(token.text) + ": id " +
                                    (has_id ? std::to_string(token.id) : "missing") +
                                    " (want a text and an id under " +
                                    std::to_string(kHfMaxTokens) + ")");
    }
    out_.added.push_back(token);
  }
  return json_.failed() ? BadJson() : Status();
}

bool Reader::ReadText(std::string_view& out) {
  return json_.Peek() == Kind::kString ? json_.ReadString(out) : json_.Skip();
}

bool Reader::ReadFlag(bool& out) {
  return json_.Peek() == Kind::kBool ? json_.ReadBool(out) : json_.Skip();
}

bool Reader::ReadModel() {
  std::string_view key, affix;
  json_.EnterObject();
  while (json_.NextKey(key)) {
    if (key == "type") {
      ReadText(out_.model_type);
    } else if (key == "unk_token") {
      ReadText(out_.unknown);
    } else if (key == "byte_fallback") {
      ReadFlag(out_.byte_fallback);
    } else if (key == "ignore_merges") {
      ReadFlag(out_.ignore_merges);
    } else if (key == "continuing_subword_prefix" || key == "end_of_word_suffix") {
      affix = {};
      ReadText(affix);
      out_.affixes = out_.affixes || !affix.empty();
    } else if (key == "vocab") {
      ReadVocab();
    } else if (key == "merges") {
      ReadMerges();
    } else {
      json_.Skip();
    }
  }
  return !json_.failed();
}

bool Reader::ReadVocab() {
  // Unigram models have an array.
  if (json_.Peek() != Kind::kObject) return json_.Skip();
  json_.EnterObject();
  std::string_view text;
  std::uint64_t id = 0;
  while (json_.NextKey(text) && json_.ReadU64(id)) {
    if (id >= kHfMaxTokens || out_.vocab.size() == kHfMaxTokens) {
      return json_.Fail("token " + Quoted(text) + ": id " + std::to_string(id) +
                        " (want ids under " + std::to_string(kHfMaxTokens) + ")");
    }
    out_.vocab.emplace_back(text, id);
  }
  return !json_.failed();
}

bool Reader::ReadMerges() {
  json_.EnterArray();
  while (json_.NextElement()) {
    if (!ReadMerge()) return false;
    if (out_.merges.size() > kHfMaxTokens) {
      return json_.Fail("more than " + std::to_string(kHfMaxTokens) + " merges");
    }
  }
  return !json_.failed();
}

// "left right", or ["left", "right"].
bool Reader::ReadMerge() {
  std::string_view left, right;
  if (json_.Peek() == Kind::kString) {
    if (!json_.ReadString(left)) return false;
    const std::size_t space = left.find(' ');
    if (space != std::string_view::npos) {
      right = left.substr(space + 1);
      left = left.substr(0, space);
    }
  } else {
    if (!json_.EnterArray()) return false;
    if (!json_.NextElement() || !json_.ReadString(left)) return json_.Fail("a merge without parts");
    if (!json_.NextElement() || !json_.ReadString(right)) {
      return json_.Fail("a merge with one part");
    }
    if (json_.NextElement()) return json_.Fail("a merge with more than two parts");
    if (json_.failed()) return false;
  }
  if (left.empty() || right.empty()) return json_.Fail("a merge without two parts");
  out_.merges.emplace_back(left, right);
  return true;
}

void Collect(const HfConfig& config, const std::string& at, const std::string& list, int depth,
             std::vector<std::string>& out) {
  const Result<std::optional<std::string>> type = config.String(at + "type");
  if (depth == 0 || !type.ok() || *type != "Sequence") {
    out.push_back(at);
    return;
  }
  for (std::size_t i = 0; i < config.Size(at + list); ++i) {
    Collect(config, at + list + "." + std::to_string(i) + ".", list, depth - 1, out);
  }
}

}  // namespace

Result<HfTokenizerJson> ReadHfTokenizerJson(const std::string& path, const MappedFile& file,
                                            TextArena& texts) {
  return Reader(path, file, texts).Read();
}

std::vector<std::string> HfComponents(const HfConfig& config, std::string_view list) {
  constexpr int kMostDepth = 4;
  std::vector<std::string> out;
  Collect(config, "", std::string(list), kMostDepth, out);
  return out;
}

}  // namespace vt
