// Cuts text into the words inside which tokens are merged.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "formats/tokenizer/pre_rules.h"
#include "vt/status.h"

namespace vt::tok {

// Immutable; may be shared by threads.
class PreTokenizer {
 public:
  static Result<PreTokenizer> Make(const PreRule& rule);
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  // `text` is valid UTF-8. The words are views of it, in order, none empty; together they are it.
  void Split(std::string_view text, std::vector<std::string_view>& words) const;

 private:
  PreTokenizer();
  struct Step;
  std::vector<Step> steps_;
};

}  // namespace vt::tok
