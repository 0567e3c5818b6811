// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/memory/physical.h"

#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace nvs::sim {
namespace {

// The arena of a process that is still there.
UniqueFd open_arena(const ExportTicket& ticket) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", ticket.pid, ticket.arena);
  return UniqueFd{::open(path, O_RDWR | O_CLOEXEC)};
}

}  // namespace

std::shared_ptr<Physical> Physical::create(Machine& machine, Arena& arena, unsigned gpu,
                                           std::uint64_t bytes, Exportable exportable) {
  if (!machine.charge(gpu, bytes)) return nullptr;
  std::shared_ptr<Physical> physical{new Physical(machine, gpu, bytes)};
  physical->charged_ = true;
  const auto offset = arena.take(bytes);
  if (!offset) return nullptr;
  physical->exportable_ = exportable == Exportable::yes;
  physical->arena_ = &arena;
  physical->offset_ = *offset;
  physical->base_ = arena.at(*offset);
  return physical;
}

std::shared_ptr<Physical> Physical::import(Machine& machine, int fd) {
  ExportTicket ticket;
  if (::pread(fd, &ticket, sizeof ticket, 0) != sizeof ticket ||
      ticket.magic != ExportTicket::kMagic || ticket.gpu >= machine.gpus()) {
    return nullptr;
  }
  const UniqueFd arena = open_arena(ticket);
  if (!arena) return nullptr;
  auto physical =
      open_peer(machine, arena.get(), ticket.offset, ticket.bytes, ticket.gpu, ticket.shared_id);
  if (!physical) return nullptr;
  physical->exportable_ = true;
  physical->ticket_ = UniqueFd{::fcntl(fd, F_DUPFD_CLOEXEC, 0)};
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
  // Whoever imported it may still have it; nobody here would know when that ends.
  if (arena_ != nullptr && !ticket_) arena_->give_back(offset_, bytes_);
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
  if (!exportable_) return -1;
  if (!ticket_) {
    ExportTicket ticket;
    ticket.bytes = bytes_;
    ticket.shared_id = publish();
    ticket.offset = offset_;
    ticket.gpu = gpu_;
    ticket.pid = ::getpid();
    ticket.arena = arena_->fd();
    UniqueFd made{::memfd_create("nvshare-sim-exported", MFD_CLOEXEC)};
    if (ticket.shared_id == 0 || !made) return -1;
    if (::pwrite(made.get(), &ticket, sizeof ticket, 0) != sizeof ticket) return -1;
    ticket_ = std::move(made);
  }
  return ::fcntl(ticket_.get(), F_DUPFD_CLOEXEC, 0);
}

std::uint64_t Physical::publish() {
  if (shared_id_ != 0) return shared_id_;
  if (arena_ != nullptr) arena_->poison_if_fresh(offset_, bytes_);
  shared_id_ = machine_.share(gpu_, bytes_);
  return shared_id_;
}

}  // namespace nvs::sim
