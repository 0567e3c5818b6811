// SPDX-License-Identifier: Apache-2.0
#include "interposer/debug/test_child.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

namespace nvs::interposer::debug {

ChildResult run_in_child(const std::function<void()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  ChildResult result;
  result.pid = ::fork();
  if (result.pid == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    body();
    std::exit(0);
  }
  ::close(ends[1]);
  char buffer[512];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    result.errors.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  ::waitpid(result.pid, &result.status, 0);
  return result;
}

std::string read_whole(const std::string& path) {
  std::ifstream file{path};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string make_folder() {
  std::string name = "/tmp/nvshare_debug_test_XXXXXX";
  return ::mkdtemp(name.data());
}

}  // namespace nvs::interposer::debug
