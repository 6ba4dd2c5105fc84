#include "formats/grammar/network.h"

#include <map>
#include <memory>

#include "formats/grammar/rule_checks.h"
#include "vt/grammar.h"

namespace vt::grammar {
namespace {

using Kind = Expression::Kind;

class Builder {
 public:
  explicit Builder(const Syntax& syntax) : syntax_(syntax) {}

  Network Build() {
    Add({});  // kEndStep
    std::vector<std::int32_t> starts;
    for (const Rule& rule : syntax_.rules) starts.push_back(Build(rule.body, kEndStep));
    for (Step& step : net_.steps) {
      if (step.kind == StepKind::kCall) step.a = starts[static_cast<std::size_t>(step.a)];
    }
    net_.root = starts[syntax_.root];
    net_.nodes = automaton_.nodes();
    net_.first_utf8_step = static_cast<std::int32_t>(net_.steps.size());
    for (std::size_t node = 0; node < net_.nodes.size(); ++node) {
      Add({StepKind::kUtf8, static_cast<std::int32_t>(node), kEndStep});
    }
    GroupBytes();
    return std::move(net_);
  }

 private:
  std::int32_t Add(Step step) {
    net_.steps.push_back(step);
    return static_cast<std::int32_t>(net_.steps.size() - 1);
  }

  std::int32_t ClassOf(const CharSet& set) {
    const auto [it, added] = classes_.emplace(set, static_cast<std::int32_t>(net_.sets.size()));
    if (added) {
      net_.sets.push_back(set);
      net_.classes.push_back(automaton_.Add(set));
    }
    return it->second;
  }

  // The step where reading `e` starts, when `next` is what follows it.
  std::int32_t Build(const Expression& e, std::int32_t next) {
    switch (e.kind) {
      case Kind::kText:
        for (std::size_t i = e.text.size(); i > 0; --i) {
          const char32_t c = e.text[i - 1];
          next = Add({StepKind::kClass, ClassOf(CharSet({{c, c}})), next});
        }
        return next;
      case Kind::kClass:
        return Add({StepKind::kClass, ClassOf(e.set), next});
      case Kind::kRule:
        return Add({StepKind::kCall, static_cast<std::int32_t>(e.rule), next});
      case Kind::kSequence:
        for (std::size_t i = e.parts.size(); i > 0; --i) next = Build(e.parts[i - 1], next);
        return next;
      case Kind::kChoice: {
        std::int32_t start = Build(e.parts.back(), next);
        for (std::size_t i = e.parts.size() - 1; i > 0; --i) {
          const std::int32_t other = Build(e.parts[i - 1], next);
          start = Add({StepKind::kSplit, other, start});
        }
        return start;
      }
      case Kind::kRepeat:
        return BuildRepeat(e, next);
    }
    return next;
  }

  std::int32_t BuildRepeat(const Expression& e, std::int32_t next) {
    const Expression& part = e.parts.front();
    std::int32_t start = next;
    if (e.max == kUnbounded) {
      start = Add({StepKind::kSplit, 0, next});
      const std::int32_t body = Build(part, start);
      net_.steps[static_cast<std::size_t>(start)].a = body;
    } else {
      for (std::uint64_t i = e.min; i < e.max; ++i) {
        const std::int32_t body = Build(part, start);
        start = Add({StepKind::kSplit, body, next});
      }
    }
    for (std::uint64_t i = 0; i < e.min; ++i) start = Build(part, start);
    return start;
  }

  void GroupBytes() {
    std::array<int, 256> group = {};
    int groups = 1;
    const auto refine = [&](auto&& value_of_byte) {
      std::map<std::pair<int, std::int32_t>, int> parts;
      for (unsigned byte = 0; byte < 256; ++byte) {
        const auto key = std::pair(group[byte], value_of_byte(byte));
        group[byte] = parts.emplace(key, static_cast<int>(parts.size())).first->second;
      }
      groups = static_cast<int>(parts.size());
    };
    for (const ByteClass& c : net_.classes) {
      if (groups == 256) break;
      refine([&](unsigned byte) -> std::int32_t {
        if (byte < 0x80) return c.HasAscii(byte) ? kCharacterDone : kNoNode;
        if (byte < ByteClass::kFirstLead || byte > ByteClass::kLastLead) return kNoNode;
        return c.lead[byte - ByteClass::kFirstLead];
      });
    }
    for (const Utf8Node& node : net_.nodes) {
      if (groups == 256) break;
      refine([&](unsigned byte) { return (byte & 0xC0) == 0x80 ? node[byte & 0x3F] : kNoNode; });
    }
    net_.byte_of_group.resize(static_cast<std::size_t>(groups));
    for (unsigned byte = 0; byte < 256; ++byte) {
      net_.group_of_byte[byte] = static_cast<std::uint8_t>(group[byte]);
      net_.byte_of_group[static_cast<std::size_t>(group[byte])] = static_cast<std::uint8_t>(byte);
    }
  }

  const Syntax& syntax_;
  Network net_;
  Utf8Automaton automaton_;
  std::map<CharSet, std::int32_t> classes_;
};

}  // namespace

Result<Network> MakeNetwork(const Syntax& syntax) {
  VT_RETURN_IF_ERROR(CheckRules(syntax));
  return Builder(syntax).Build();
}

}  // namespace vt::grammar

namespace vt {

Result<Grammar> ParseGbnf(std::string_view text) {
  VT_ASSIGN_OR_RETURN(const grammar::Syntax syntax, grammar::ReadGbnf(text));
  VT_ASSIGN_OR_RETURN(grammar::Network network, grammar::MakeNetwork(syntax));
  return Grammar(std::make_shared<const grammar::Network>(std::move(network)));
}

}  // namespace vt
