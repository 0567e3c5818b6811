// SPDX-License-Identifier: Apache-2.0
#include "bench/temporary_folder.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/failure.h"

namespace nvs::bench {
namespace {

namespace fs = std::filesystem;

// A case has one daemon at a time, or few. Paths stay where they are while a handler may read them:
// a place is taken when its path is complete, and free when its first character is 0.
constexpr std::size_t kPlaces = 8;
constexpr std::size_t kPathMax = 512;
using Place = std::array<char, kPathMax>;
std::array<Place, kPlaces> g_places;

void remember(const std::string& path) {
  for (Place& place : g_places) {
    if (place[0] != 0 || path.size() >= place.size()) continue;
    std::memcpy(place.data() + 1, path.c_str() + 1, path.size());
    place[0] = path[0];
    return;
  }
}

void forget(const std::string& path) {
  for (Place& place : g_places) {
    if (path == place.data()) place[0] = 0;
  }
}

void remove_and_end(int number) {
  remove_temporary_folders();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "nvshare-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw Failure(fmt::format("{}: {}", pattern, std::strerror(errno)));
  }
  path_ = pattern;
  remember(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  forget(path_);
}

// Another program removes what is in them: walking through folders allocates.
void remove_temporary_folders() {
  for (Place& place : g_places) {
    if (place[0] == 0) continue;
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl("/bin/rm", "rm", "-rf", "--", place.data(), nullptr);
      ::_exit(1);
    }
    if (child > 0) ::waitpid(child, nullptr, 0);
  }
}

void remove_temporary_folders_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // nohup and shells that run something in the background have it ignored.
    if (::signal(number, remove_and_end) == SIG_IGN) ::signal(number, SIG_IGN);
  }
}

}  // namespace nvs::bench
