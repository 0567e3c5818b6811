// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/nvml/event_sets.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "cuda_api/nvml_constants.h"
#include "cuda_sim/machine/clock.h"

namespace {

using nvs::sim::Nanos;

constexpr Nanos kPoll = 5'000'000;

std::uint64_t size_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

}  // namespace

nvmlEventSet_st::nvmlEventSet_st(std::string path) : path_(std::move(path)) {}

void nvmlEventSet_st::listen(unsigned gpu, unsigned long long types) {
  const std::lock_guard guard{mutex_};
  read_file();  // what happened before is none of this listener's business
  types_[gpu] |= types;
}

std::optional<nvmlEventSet_st::Event> nvmlEventSet_st::wait(unsigned timeout_ms) {
  const Nanos deadline = nvs::sim::now_ns() + Nanos{timeout_ms} * 1'000'000;
  for (;;) {
    if (std::optional<Event> event = next()) return event;
    const Nanos now = nvs::sim::now_ns();
    if (now >= deadline) return std::nullopt;
    nvs::sim::doze_until(std::min(deadline, now + kPoll));
  }
}

std::optional<nvmlEventSet_st::Event> nvmlEventSet_st::next() {
  const std::lock_guard guard{mutex_};
  read_file();
  if (pending_.empty()) return std::nullopt;
  const Event event = pending_.front();
  pending_.pop_front();
  return event;
}

void nvmlEventSet_st::read_file() {
  const std::uint64_t size = path_.empty() ? 0 : size_of(path_);
  if (size == position_) return;
  if (size < position_) {  // somebody began a new file
    position_ = 0;
    unfinished_.clear();
  }
  std::ifstream file{path_, std::ios::binary};
  file.seekg(static_cast<std::streamoff>(position_));
  std::vector<char> text(size - position_);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  position_ += static_cast<std::uint64_t>(file.gcount());
  for (std::streamsize i = 0; i < file.gcount(); ++i) {
    const char letter = text[static_cast<std::size_t>(i)];
    if (letter == '\n') {
      take_line(std::exchange(unfinished_, {}));
    } else {
      unfinished_ += letter;
    }
  }
}

void nvmlEventSet_st::take_line(const std::string& line) {
  Event event;
  char rest = 0;
  const int fields = std::sscanf(line.c_str(), "%u %llu %c", &event.gpu, &event.xid, &rest);
  if (fields != 2 || event.gpu >= types_.size()) {
    std::fprintf(stderr, "simulated NVML: %s: not a line of the form GPU XID: %s\n", path_.c_str(),
                 line.c_str());
    return;
  }
  if ((types_[event.gpu] & nvmlEventTypeXidCriticalError) != 0) pending_.push_back(event);
}

namespace nvs::nvml {

nvmlEventSet_t EventSets::create(std::string path) {
  auto set = std::make_shared<nvmlEventSet_st>(std::move(path));
  const std::lock_guard guard{mutex_};
  nvmlEventSet_t handle = set.get();
  sets_.emplace(handle, std::move(set));
  return handle;
}

std::shared_ptr<nvmlEventSet_st> EventSets::find(nvmlEventSet_t set) {
  const std::lock_guard guard{mutex_};
  const auto found = sets_.find(set);
  return found == sets_.end() ? nullptr : found->second;
}

bool EventSets::remove(nvmlEventSet_t set) {
  const std::lock_guard guard{mutex_};
  return sets_.erase(set) != 0;
}

}  // namespace nvs::nvml
