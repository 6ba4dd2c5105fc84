#include "formats/grammar/matcher.h"

#include <algorithm>
#include <bit>

namespace vt::grammar {

Matcher::Matcher(Grammar grammar, GrammarVocabulary vocabulary, std::vector<TokenId> end_tokens)
    : grammar_(std::move(grammar)),
      vocabulary_(std::move(vocabulary)),
      end_tokens_(std::move(end_tokens)),
      configurations_(grammar_.network()),
      runs_(configurations_) {
  const auto outside = [this](TokenId id) {
    return id < 0 || static_cast<std::size_t>(id) >= trie().vocabulary_size();
  };
  std::erase_if(end_tokens_, outside);
}

bool Matcher::IsEnd(TokenId token) const {
  return std::find(end_tokens_.begin(), end_tokens_.end(), token) != end_tokens_.end();
}

namespace {

void Allow(std::span<const TokenId> tokens, std::uint64_t* words) {
  for (const TokenId token : tokens) {
    const auto id = static_cast<std::size_t>(token);
    words[id / 64] |= std::uint64_t{1} << (id % 64);
  }
}

}  // namespace

void Matcher::Walk(std::int32_t config, bool drop_space, std::vector<std::uint64_t>* words) {
  const std::span<const Trie::Node> nodes = trie().nodes();
  const std::span<const TokenId> tokens = trie().tokens();
  path_.resize(trie().depth() + 1);
  path_[0] = config;
  for (std::size_t i = 1; i < nodes.size();) {
    const Trie::Node& node = nodes[i];
    const bool dropped = drop_space && node.depth == 1 && node.byte == ' ';
    const std::int32_t next =
        dropped ? config : configurations_.Next(path_[node.depth - 1u], node.byte);
    if (next == Configurations::kDead) {
      i = node.end;
      continue;
    }
    constexpr std::uint32_t kWorthAsking = 8;  // nodes
    if (node.end - i >= kWorthAsking) {
      const Run& run = runs_.Of(next);
      if ((node.below & ~run.bits) == 0 && node.height <= run.reach) {
        Allow(trie().tokens_under(i), words->data());
        i = node.end;
        continue;
      }
    }
    path_[node.depth] = next;
    Allow(tokens.subspan(node.tokens_begin, trie().tokens_end(i) - node.tokens_begin),
          words->data());
    ++i;
  }
}

const GrammarState::Mask& Matcher::Allowed(std::int32_t config, bool drop_space) {
  const std::int64_t key = std::int64_t{config} * 2 + (drop_space ? 1 : 0);
  if (const auto it = masks_.find(key); it != masks_.end()) return it->second.mask;
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  const std::size_t size = (trie().vocabulary_size() + 63) / 64;
  if ((masks_.size() + 1) * size * sizeof(std::uint64_t) > kMostBytes) masks_.clear();
  Entry& entry = masks_[key];
  entry.words.assign(size, 0);
  Walk(config, drop_space, &entry.words);
  for (const TokenId id : end_tokens_) {
    const auto bit = static_cast<std::size_t>(id);
    std::uint64_t& word = entry.words[bit / 64];
    word &= ~(std::uint64_t{1} << (bit % 64));
    if (configurations_.may_end(config)) word |= std::uint64_t{1} << (bit % 64);
  }
  entry.mask.words = entry.words;
  for (const std::uint64_t word : entry.words) {
    entry.mask.count += static_cast<std::size_t>(std::popcount(word));
  }
  return entry.mask;
}

std::int32_t Matcher::Next(std::int32_t config, std::string_view text, bool drop_space) {
  if (drop_space && text.starts_with(' ')) text.remove_prefix(1);
  for (const char byte : text) {
    config = configurations_.Next(config, static_cast<unsigned char>(byte));
    if (config == Configurations::kDead) break;
  }
  return config;
}

}  // namespace vt::grammar
