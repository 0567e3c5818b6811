// SPDX-License-Identifier: Apache-2.0
// NVML's event sets. Nothing ever breaks in a simulated card by itself, so a test says what does:
// it appends lines `GPU XID` to the file that NVSHARE_SIM_NVML_EVENTS_FILE names, and each line
// becomes an Xid event for all sets that listen to that GPU by then.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cuda_api/nvml_types.h"
#include "cuda_sim/config/model.h"

// What an nvmlEventSet_t points to.
struct nvmlEventSet_st {
 public:
  struct Event {
    unsigned gpu = 0;
    unsigned long long xid = 0;
  };

  explicit nvmlEventSet_st(std::string path);

  void listen(unsigned gpu, unsigned long long types);
  /// The next event that somebody listens to. Waits for it if need be, but no longer than that.
  std::optional<Event> wait(unsigned timeout_ms);

 private:
  std::optional<Event> next();
  void read_file();
  void take_line(const std::string& line);

  std::mutex mutex_;  // guards the rest
  std::string path_;
  std::uint64_t position_ = 0;
  std::string unfinished_;
  std::array<unsigned long long, nvs::sim::kGpusMax> types_{};
  std::deque<Event> pending_;
};

namespace nvs::nvml {

class EventSets {
 public:
  nvmlEventSet_t create(std::string path);
  /// Null when the handle is not, or no longer, one of ours.
  std::shared_ptr<nvmlEventSet_st> find(nvmlEventSet_t set);
  bool remove(nvmlEventSet_t set);

 private:
  std::mutex mutex_;  // guards the rest
  std::map<nvmlEventSet_t, std::shared_ptr<nvmlEventSet_st>> sets_;
};

}  // namespace nvs::nvml
