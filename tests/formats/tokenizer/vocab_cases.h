// The tests/data/tokenizers files: strings and the ids that llama.cpp gives them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vt/tokenizer.h"

namespace vt::test {

struct TokenCase {
  std::string text;
  std::vector<TokenId> ids;  // special tokens parsed, none added
};

// Names of the files, without .json.
std::vector<std::string> CaseNames();
std::vector<TokenCase> ReadCases(const std::string& name);
// Vocabulary or model of a file; nullopt when it is not on this machine.
std::optional<std::string> PathOfCases(const std::string& name);

// Fails the test and gives nullopt when the file does not load.
std::optional<Tokenizer> LoadTokenizer(const std::string& path);

}  // namespace vt::test
