// SPDX-License-Identifier: Apache-2.0
// One piece of work for a simulated GPU, and its place among the others. Streams, events, graphs
// and default-stream rules all come down to "this op starts after those": ops form a graph, and
// nothing else orders them.
//
// An op is *done* once its effect on memory is made and its end in modelled time is known; that end
// may still lie a little ahead of the clock. It is *finished* when the clock has got there, and
// only then may a program learn of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda_sim/machine/clock.h"

namespace nvs::sim {

class Engine;

enum class Lane : std::uint8_t { none, compute, copy_in, copy_out, host };
inline constexpr unsigned kLanes = 5;

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

class Op {
 public:
  explicit Op(Lane lane) : lane_(lane) {}
  virtual ~Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  Lane lane() const { return lane_; }

  /// Looks up the memory to be touched, under the driver's lock, when the op starts. False: an
  /// illegal address.
  virtual bool resolve() { return true; }
  /// Makes the effect on [offset, offset + bytes) of the op's bytes. Without the driver's lock,
  /// unless is_light().
  virtual void perform(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
  /// What an op without a lane does when its turn comes, under the driver's lock. It must not wait.
  virtual void take_effect() {}
  /// Lets go of the memory it looked up: the op itself may be remembered for long after its end.
  virtual void let_go() {}
  /// Modelled time, for the compute lane.
  virtual Nanos duration() const { return 0; }
  /// What it had to wait for its memory when it started; known after resolve().
  virtual Nanos stall() const { return 0; }
  /// What a copy moves, as the program counts it.
  virtual std::uint64_t bytes() const { return 0; }
  /// The rate of a copy that is slower than the link, in bytes of the card modelled per nanosecond;
  /// 0: the link's.
  virtual double rate_limit() const { return 0; }
  /// Whether perform() is so short that the submitting thread may do it.
  virtual bool is_light() const { return false; }
  /// Device addresses the op uses, for the check that nothing is unmapped under it.
  virtual std::vector<Range> touches() const { return {}; }
  /// Name for messages.
  virtual const char* name() const = 0;
  /// Set for an op that only ends when it is released.
  virtual bool hangs() const { return false; }

  bool done() const { return done_; }
  Nanos end() const { return end_; }
  bool finished(Nanos now) const { return done_ && end_ <= now; }

 private:
  friend class Engine;

  Lane lane_;
  // All under the driver's lock.
  bool done_ = false;
  unsigned blockers_ = 0;
  Nanos ready_ = 0;
  Nanos spent_ = 0;  // of its duration, in a slice that ended too soon
  Nanos end_ = 0;
  Engine* engine_ = nullptr;
  std::vector<std::shared_ptr<Op>> dependents_;
};

using OpPtr = std::shared_ptr<Op>;

/// Takes no time and no engine, and does nothing: event records, joins, the begin and end of a
/// graph.
class Marker final : public Op {
 public:
  explicit Marker(const char* name) : Op(Lane::none), name_(name) {}
  const char* name() const override { return name_; }

 private:
  const char* name_;
};

}  // namespace nvs::sim
