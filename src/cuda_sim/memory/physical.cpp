// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/memory/physical.h"

#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nvs::sim {
namespace {

constexpr std::uint64_t kPage = 4096;
// Exported memory is poisoned at once, since its owners share no record of what was touched; beyond
// this size it is left as zeroes rather than filling the host.
constexpr std::uint64_t kEagerPoisonMax = 1ULL << 30;

}  // namespace

std::shared_ptr<Physical> Physical::create(Machine& machine, Arena& arena, unsigned gpu,
                                           std::uint64_t bytes, Exportable exportable) {
  if (!machine.charge(gpu, bytes)) return nullptr;
  std::shared_ptr<Physical> physical{new Physical(machine, gpu, bytes)};
  physical->charged_ = true;
  if (exportable == Exportable::no) {
    const auto offset = arena.take(bytes);
    if (!offset) return nullptr;
    physical->arena_ = &arena;
    physical->offset_ = *offset;
    physical->base_ = arena.at(*offset);
    return physical;
  }
  physical->file_ = UniqueFd{::memfd_create("nvshare-sim-exportable", MFD_CLOEXEC)};
  const std::uint64_t file_bytes = bytes + kPage;
  if (!physical->file_ || ::ftruncate(physical->file_.get(), static_cast<off_t>(file_bytes)) != 0 ||
      !physical->map_file(0, file_bytes, physical->file_.get())) {
    return nullptr;
  }
  if (bytes <= kEagerPoisonMax) poison(physical->base_, bytes);
  ExportTrailer trailer;
  trailer.bytes = bytes;
  trailer.gpu = gpu;
  std::memcpy(physical->base_ + bytes, &trailer, sizeof trailer);
  return physical;
}

std::shared_ptr<Physical> Physical::import(Machine& machine, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size <= static_cast<off_t>(kPage)) return nullptr;
  const std::uint64_t bytes = static_cast<std::uint64_t>(info.st_size) - kPage;
  ExportTrailer trailer;
  if (::pread(fd, &trailer, sizeof trailer, static_cast<off_t>(bytes)) != sizeof trailer ||
      trailer.magic != ExportTrailer::kMagic || trailer.bytes != bytes ||
      trailer.gpu >= machine.gpus() || !machine.hold_shared(trailer.shared_id)) {
    return nullptr;
  }
  std::shared_ptr<Physical> physical{new Physical(machine, trailer.gpu, bytes)};
  physical->shared_id_ = trailer.shared_id;
  physical->charged_ = true;
  physical->file_ = UniqueFd{::fcntl(fd, F_DUPFD_CLOEXEC, 0)};
  if (!physical->file_ || !physical->map_file(0, bytes + kPage, fd)) return nullptr;
  return physical;
}

std::shared_ptr<Physical> Physical::open_peer(Machine& machine, int arena_fd, std::uint64_t offset,
                                              std::uint64_t bytes, unsigned gpu,
                                              std::uint64_t shared_id) {
  if (!machine.hold_shared(shared_id)) return nullptr;
  std::shared_ptr<Physical> physical{new Physical(machine, gpu, bytes)};
  physical->shared_id_ = shared_id;
  physical->charged_ = true;
  if (!physical->map_file(offset, bytes, arena_fd)) return nullptr;
  return physical;
}

Physical::~Physical() {
  if (arena_ != nullptr) arena_->give_back(offset_, bytes_);
  if (mapped_bytes_ != 0) ::munmap(base_, mapped_bytes_);
  if (!charged_) return;
  if (shared_id_ != 0) {
    machine_.drop_shared(shared_id_);
  } else {
    machine_.refund(gpu_, bytes_);
  }
}

bool Physical::map_file(std::uint64_t offset, std::uint64_t mapped_bytes, int fd) {
  void* base = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      static_cast<off_t>(offset));
  if (base == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(base);
  mapped_bytes_ = mapped_bytes;
  return true;
}

void Physical::poison_if_fresh(std::uint64_t offset, std::uint64_t bytes) const {
  if (arena_ != nullptr) arena_->poison_if_fresh(offset_ + offset, bytes);
}

int Physical::duplicate_fd() {
  if (!file_) return -1;
  const int fd = ::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0 || shared_id_ != 0) return fd;
  // The first descriptor that leaves makes the memory shareable; the trailer carries its number in
  // the books.
  const std::uint64_t id = publish();
  if (id == 0) {
    ::close(fd);
    return -1;
  }
  std::memcpy(base_ + bytes_ + offsetof(ExportTrailer, shared_id), &id, sizeof id);
  return fd;
}

std::uint64_t Physical::publish() {
  if (shared_id_ != 0) return shared_id_;
  if (arena_ != nullptr) arena_->poison_if_fresh(offset_, bytes_);
  shared_id_ = machine_.share(gpu_, bytes_);
  return shared_id_;
}

}  // namespace nvs::sim
