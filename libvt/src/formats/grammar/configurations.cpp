#include "formats/grammar/configurations.h"

#include <algorithm>

namespace vt::grammar {
namespace {

constexpr std::int32_t kNone = -1;

std::uint64_t Mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15u;
  return x ^ (x >> 29);
}

}  // namespace

std::size_t Configurations::FramesHash::operator()(const std::pair<Frames, bool>& key) const {
  std::uint64_t hash = key.second ? 1 : 2;
  for (const std::int32_t frame : key.first) {
    hash = Mix(hash + static_cast<std::uint64_t>(static_cast<std::uint32_t>(frame)) + 1);
  }
  return static_cast<std::size_t>(hash);
}

Configurations::Configurations(const Network& network)
    : network_(network), groups_(network.byte_of_group.size()), table_(1024, kNone) {
  Begin();
  Finish();  // kDead: no frames, no end
  for (std::size_t group = 0; group < groups_; ++group) moves_[group] = kDead;
  Begin();
  Enter(network_.root, kNone);
  start_ = Finish();
}

std::int32_t Configurations::Intern(std::int32_t step, std::int32_t parent) {
  const std::uint64_t key = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(step)) << 32) |
                            static_cast<std::uint32_t>(parent);
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(Mix(key)) & mask;
  for (; table_[slot] != kNone; slot = (slot + 1) & mask) {
    const Frame& frame = FrameOf(table_[slot]);
    if (frame.step == step && frame.parent == parent) return table_[slot];
  }
  const auto id = static_cast<std::int32_t>(frames_.size());
  table_[slot] = id;
  frames_.push_back({step, parent});
  marks_.push_back(0);
  if (frames_.size() * 2 > table_.size()) GrowTable();
  return id;
}

void Configurations::GrowTable() {
  table_.assign(table_.size() * 4, kNone);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t id = 0; id < frames_.size(); ++id) {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(frames_[id].step)) << 32) |
        static_cast<std::uint32_t>(frames_[id].parent);
    std::size_t slot = static_cast<std::size_t>(Mix(key)) & mask;
    while (table_[slot] != kNone) slot = (slot + 1) & mask;
    table_[slot] = static_cast<std::int32_t>(id);
  }
}

void Configurations::Begin() {
  ++round_;
  entered_ = 0;
  found_.clear();
  ends_ = false;
}

// Follows a step, and all that it leads to without reading, to frames that wait for a byte.
void Configurations::Enter(std::int32_t first_step, std::int32_t first_parent) {
  work_.push_back({first_step, first_parent});
  while (!work_.empty()) {
    const Frame frame = work_.back();
    work_.pop_back();
    const Step& step = network_.steps[static_cast<std::size_t>(frame.step)];
    if (step.kind == StepKind::kEnd) {
      if (frame.parent == kNone) {
        ends_ = true;
      } else {
        work_.push_back(FrameOf(frame.parent));
      }
      continue;
    }
    const std::int32_t id = Intern(frame.step, frame.parent);
    std::uint32_t& mark = marks_[static_cast<std::size_t>(id)];
    if (mark == round_) continue;
    mark = round_;
    if (++entered_ > kMostFrames) {
      overflowed_ = true;
      work_.clear();
      return;
    }
    switch (step.kind) {
      case StepKind::kSplit:
        work_.push_back({step.a, frame.parent});
        work_.push_back({step.next, frame.parent});
        break;
      case StepKind::kCall:
        // Where nothing is left to do after the call, its end is this rule's end.
        work_.push_back(
            {step.a, step.next == kEndStep ? frame.parent : Intern(step.next, frame.parent)});
        break;
      default:
        found_.push_back(id);
        break;
    }
  }
}

// The configuration of what was entered since Begin.
std::int32_t Configurations::Finish() {
  if (entered_ > kMostFrames) return kDead;
  std::sort(found_.begin(), found_.end());
  const auto [it, added] =
      ids_.emplace(std::pair(found_, ends_), static_cast<std::int32_t>(infos_.size()));
  if (added) {
    infos_.push_back({&it->first.first, ends_});
    moves_.resize(moves_.size() + groups_, kNone);
  }
  return it->second;
}

std::int32_t Configurations::Move(std::int32_t config, std::uint8_t group) {
  const unsigned byte = network_.byte_of_group[group];
  Begin();
  for (const std::int32_t id : *Info(config).frames) {
    const Frame frame = FrameOf(id);
    const Step& step = network_.steps[static_cast<std::size_t>(frame.step)];
    if (step.kind == StepKind::kUtf8) {
      if ((byte & 0xC0) != 0x80) continue;
      const std::int32_t node = network_.nodes[static_cast<std::size_t>(step.a)][byte & 0x3F];
      if (node == kCharacterDone) {
        Enter(kEndStep, frame.parent);
      } else if (node != kNoNode) {
        Enter(network_.first_utf8_step + node, frame.parent);
      }
      continue;
    }
    const ByteClass& set = network_.classes[static_cast<std::size_t>(step.a)];
    if (byte < 0x80) {
      if (set.HasAscii(byte)) Enter(step.next, frame.parent);
    } else if (byte >= ByteClass::kFirstLead && byte <= ByteClass::kLastLead) {
      const std::int32_t node = set.lead[byte - ByteClass::kFirstLead];
      if (node != kNoNode) {
        Enter(network_.first_utf8_step + node, Intern(step.next, frame.parent));
      }
    }
  }
  const std::int32_t next = Finish();
  moves_[static_cast<std::size_t>(config) * groups_ + group] = next;
  return next;
}

std::int32_t Configurations::Import(const Configurations& other, std::int32_t config) {
  Begin();
  std::vector<std::int32_t> stack;
  for (std::int32_t id : *other.Info(config).frames) {
    stack.clear();
    for (; id != kNone; id = other.FrameOf(id).parent) stack.push_back(other.FrameOf(id).step);
    std::int32_t parent = kNone;
    for (; stack.size() > 1; stack.pop_back()) parent = Intern(stack.back(), parent);
    Enter(stack.back(), parent);
  }
  ends_ = other.Info(config).may_end;
  return Finish();
}

std::string Configurations::Expected(std::int32_t config) const {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> choices;
  for (const std::int32_t id : *Info(config).frames) {
    const Step& step = network_.steps[static_cast<std::size_t>(FrameOf(id).step)];
    std::string text = step.kind == StepKind::kUtf8
                           ? "the rest of a character"
                           : ClassText(network_.sets[static_cast<std::size_t>(step.a)]);
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      choices.push_back(std::move(text));
    }
  }
  std::sort(choices.begin(), choices.end());
  if (choices.size() > kMost) {
    choices.resize(kMost);
    choices.push_back("...");
  }
  if (may_end(config)) choices.push_back("the end");
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : " or ") + choice;
  return text.empty() ? "nothing" : text;
}

}  // namespace vt::grammar
