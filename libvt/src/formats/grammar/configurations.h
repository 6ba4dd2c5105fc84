// All the ways a text can be inside a grammar at once, numbered, with the moves between them.
//
// A frame is a step and the frame to return to; a frame stands for the whole stack under it, and
// equal stacks are one frame. A configuration is a set of frames that wait for a byte. Both are
// made when first needed and kept, so that a move that was made once is a look-up afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/grammar/network.h"

namespace vt::grammar {

class Configurations {
 public:
  static constexpr std::int32_t kDead = 0;  // the configuration in which nothing fits any more
  static constexpr std::size_t kMostFrames = 20000;  // of one configuration

  // `network` must outlive the object.
  explicit Configurations(const Network& network);

  std::int32_t start() const { return start_; }
  // The same configuration as `config` of `other`, which has the same network.
  std::int32_t Import(const Configurations& other, std::int32_t config);

  std::int32_t Next(std::int32_t config, unsigned char byte) {
    const std::uint8_t group = network_.group_of_byte[byte];
    const std::int32_t next = moves_[static_cast<std::size_t>(config) * groups_ + group];
    return next >= 0 ? next : Move(config, group);
  }
  bool may_end(std::int32_t config) const { return Info(config).may_end; }
  bool can_go_on(std::int32_t config) const { return !Info(config).frames->empty(); }
  // A set of frames had to be cut at kMostFrames; the move that made it went to kDead.
  bool overflowed() const { return overflowed_; }

  // What is kept has grown so large that it is better to start anew (see Import).
  bool full() const { return infos_.size() > (1u << 16) || frames_.size() > (1u << 21); }

  std::string Expected(std::int32_t config) const;

 private:
  struct Frame {
    std::int32_t step;
    std::int32_t parent;  // frame; -1: the end of the grammar
  };
  using Frames = std::vector<std::int32_t>;
  struct FramesHash {
    std::size_t operator()(const std::pair<Frames, bool>& key) const;
  };
  struct ConfigInfo {
    const Frames* frames;  // a key of `ids_`
    bool may_end;
  };

  const ConfigInfo& Info(std::int32_t config) const {
    return infos_[static_cast<std::size_t>(config)];
  }
  const Frame& FrameOf(std::int32_t id) const { return frames_[static_cast<std::size_t>(id)]; }
  std::int32_t Move(std::int32_t config, std::uint8_t group);
  std::int32_t Intern(std::int32_t step, std::int32_t parent);
  void GrowTable();
  void Enter(std::int32_t step, std::int32_t parent);
  void Begin();
  std::int32_t Finish();

  const Network& network_;
  std::size_t groups_;
  std::vector<Frame> frames_;
  std::vector<std::int32_t> table_;  // open addressing over frames_, -1: free
  std::unordered_map<std::pair<Frames, bool>, std::int32_t, FramesHash> ids_;
  std::vector<ConfigInfo> infos_;
  std::vector<std::int32_t> moves_;  // [configuration, group]; -1: not made yet
  std::int32_t start_ = kDead;
  bool overflowed_ = false;

  // Of the configuration being made.
  std::vector<std::uint32_t> marks_;  // by frame: the round in which it was entered
  std::uint32_t round_ = 0;
  std::size_t entered_ = 0;
  std::vector<Frame> work_;
  Frames found_;
  bool ends_ = false;
};

}  // namespace vt::grammar
