// SPDX-License-Identifier: Apache-2.0
// How often the program holds the primary context of each GPU. Only its last release ends it: the
// others change nothing, however many there are. A call that may end the context is the only one of
// its GPU, so that whoever retains it next, under its old handle, finds nothing of what has ended.
#pragma once

#include <cstdint>

namespace nvs::interposer::retains {

// A call of the driver that retains, releases or resets the primary context of a GPU, from before
// it until all that follows from it was done.
class Call {
 public:
  enum class Kind : std::uint8_t { retain, release, reset };
  // Waits for others that must not meet it.
  Call(int gpu, Kind kind);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Retains that went past us would make this true too often, never too seldom.
  bool may_end() const { return is_alone_; }
  void succeeded() { is_done_ = true; }
  // It has ended, whatever we have counted.
  void ended() { has_ended_ = true; }

 private:
  int gpu_;
  Kind kind_;
  bool is_alone_ = false;
  bool is_done_ = false;
  bool has_ended_ = false;
};

void start_over_in_child();

}  // namespace nvs::interposer::retains
