// SPDX-License-Identifier: Apache-2.0
// Names of our sockets in the kubelet's folder, no two alike even across restarts: in a container
// every process has the same pid, and a kubelet may remember a path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nvs::plugin {

class SocketNames {
 public:
  // `run` is a number that no other run of the program has.
  SocketNames(int pid, std::uint32_t run) : pid_(pid), run_(run) {}

  // "nvshare-<resource>-<pid>-<run>-<counter>.sock", where the resource is the end of its name: the
  // path of a socket has 107 characters at most.
  std::string next(std::string_view resource);

 private:
  int pid_;
  std::uint32_t run_;
  unsigned counter_ = 0;
};

// Whether a file is one of ours, of this run or another.
bool is_our_socket(std::string_view name);

}  // namespace nvs::plugin
