// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/kubelet_socket.h"

#include <ctime>

#include <sys/stat.h>

#include "device_plugin/usage.h"

namespace nvs::plugin {

// A kubelet makes its socket when it starts. A time to come is one of a clock that was set back, of
// which nothing is known either.
bool has_been_there(const std::string& socket) {
  struct stat status {};
  if (::stat(socket.c_str(), &status) != 0) return false;
  const Duration age = Duration::from_s(std::time(nullptr) - status.st_mtim.tv_sec);
  return age >= Usage::kKubeletComesToItself;
}

}  // namespace nvs::plugin
