// SPDX-License-Identifier: Apache-2.0
// What the processes that hold an interprocess event share of it: how often it was recorded, and
// how many of those records have come to pass. A page of a memfd, so that it lives as long as a
// holder.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/unique_fd.h"

namespace nvs::sim {

class SharedEvent {
 public:
  /// Null when the host has no memory or descriptors left.
  static std::shared_ptr<SharedEvent> create();
  /// Takes part in an event of another process. Null when the descriptor is none.
  static std::shared_ptr<SharedEvent> open(UniqueFd file);
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  int fd() const { return file_.get(); }

  /// The number of this record.
  std::uint64_t record() { return page_->recorded.fetch_add(1) + 1; }
  void finish(std::uint64_t record);
  std::uint64_t last_record() const { return page_->recorded.load(); }
  bool has_finished(std::uint64_t record) const { return page_->finished.load() >= record; }

 private:
  struct Page {
    std::uint64_t magic = 0;
    std::atomic<std::uint64_t> recorded{0};
    std::atomic<std::uint64_t> finished{0};
  };

  explicit SharedEvent(UniqueFd file) : file_(std::move(file)) {}
  bool map();

  UniqueFd file_;
  Page* page_ = nullptr;
};

}  // namespace nvs::sim
