// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/objects/shared_event.h"

#include <new>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nvs::sim {
namespace {

constexpr std::uint64_t kMagic = 0x6e76736576743031;  // "nvsevt01"
constexpr std::size_t kBytes = 4096;

}  // namespace

std::shared_ptr<SharedEvent> SharedEvent::create() {
  UniqueFd file{::memfd_create("nvshare-sim-event", MFD_CLOEXEC)};
  if (!file || ::ftruncate(file.get(), kBytes) != 0) return nullptr;
  std::shared_ptr<SharedEvent> event{new SharedEvent(std::move(file))};
  if (!event->map()) return nullptr;
  new (event->page_) Page;
  event->page_->magic = kMagic;
  return event;
}

std::shared_ptr<SharedEvent> SharedEvent::open(UniqueFd file) {
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || info.st_size != kBytes) return nullptr;
  std::shared_ptr<SharedEvent> event{new SharedEvent(std::move(file))};
  if (!event->map() || event->page_->magic != kMagic) return nullptr;
  return event;
}

SharedEvent::~SharedEvent() {
  if (page_ != nullptr) ::munmap(page_, kBytes);
}

bool SharedEvent::map() {
  void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (at == MAP_FAILED) return false;
  page_ = static_cast<Page*>(at);
  return true;
}

// Records of several processes may come to pass in any order; the last one counts.
void SharedEvent::finish(std::uint64_t record) {
  std::uint64_t known = page_->finished.load();
  while (known < record && !page_->finished.compare_exchange_weak(known, record)) {
  }
}

}  // namespace nvs::sim
