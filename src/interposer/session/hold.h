// SPDX-License-Identifier: Apache-2.0
// For a thread inside the gate that must be the only one for a moment: all others stop at the gate
// as if the window had ended, and the daemon does not hear of it.
#pragma once

#include <cstdint>

namespace nvs::interposer::session {

class Hold {
 public:
  // One bit for each GPU. The calling thread is inside the gate, and no other one holds any.
  explicit Hold(std::uint32_t gpus);
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  // False: some thread is in a call that does not end.
  bool is_alone() const { return is_alone_; }

 private:
  std::uint32_t gpus_;
  bool is_alone_ = false;
};

}  // namespace nvs::interposer::session
