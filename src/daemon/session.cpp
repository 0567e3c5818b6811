// SPDX-License-Identifier: Apache-2.0
#include "daemon/session.h"

#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "os/unix_socket.h"

namespace nvs::daemon {

Session::Session(core::ClientId id, UniqueFd fd, Instant now)
    : id_(id), fd_(std::move(fd), os::ForeignFile::Kind::our_socket), budget_(now) {
  gpus_.fill(kUnnamed);
  ordinals_.fill(kUnnamed);
}

Session::~Session() { ::shutdown(fd_.get(), SHUT_RDWR); }

namespace {

os::Transfer send_now(int fd, const void* packet, std::size_t size, int file) {
  const os::Moved moved =
      file < 0 ? os::send(fd, packet, size) : os::send_with_file(fd, packet, size, file);
  return moved.outcome;
}

}  // namespace

Session::Output Session::send_packet(const void* packet, std::size_t size, int file) {
  if (output_ == Output::flowing) {
    switch (send_now(fd_.get(), packet, size, file)) {
      case os::Transfer::done:
        return output_;
      case os::Transfer::closed:
        return output_ = Output::gone;
      case os::Transfer::not_now:
        break;
    }
  }
  if (output_ == Output::stuck || output_ == Output::gone) return output_;
  if (queue_.size() - flushed_ == kPacketsQueuedMax) return output_ = Output::stuck;
  os::ForeignFile copy;
  if (file != kNoFile) {
    copy = os::ForeignFile{UniqueFd{::fcntl(file, F_DUPFD_CLOEXEC, 0)}};
    if (!copy) return output_ = Output::stuck;
  }
  Queued& queued = queue_.emplace_back();
  queued.size = size;
  std::memcpy(queued.bytes.data(), packet, size);
  queued.file = std::move(copy);
  return output_ = Output::queued;
}

Session::Output Session::flush() {
  while (output_ == Output::queued && flushed_ < queue_.size()) {
    Queued& next = queue_[flushed_];
    const os::Transfer outcome = send_now(fd_.get(), next.bytes.data(), next.size, next.file.get());
    if (outcome == os::Transfer::closed) output_ = Output::gone;
    if (outcome != os::Transfer::done) break;
    next.file.reset();
    ++flushed_;
  }
  if (flushed_ == queue_.size() && output_ == Output::queued) output_ = Output::flowing;
  // All that was sent goes at once, so that a client that reads slowly costs no copying each time.
  if (flushed_ == queue_.size() || flushed_ >= kPacketsQueuedMax) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(flushed_));
    flushed_ = 0;
  }
  return output_;
}

Session::Declared Session::declare(std::uint32_t ordinal, std::optional<core::GpuId> gpu) {
  NVS_ASSERT(ordinal < gpus_.size());
  const auto named = gpu ? static_cast<std::int16_t>(core::index_of(*gpu)) : kUnmanaged;
  if (gpus_[ordinal] == named) return Declared::again;
  if (gpus_[ordinal] != kUnnamed) return Declared::conflict;
  if (gpu) {
    NVS_ASSERT(core::index_of(*gpu) < ordinals_.size());
    std::int16_t& number = ordinals_[core::index_of(*gpu)];
    if (number != kUnnamed) return Declared::conflict;
    number = static_cast<std::int16_t>(ordinal);
    ++managed_;
  }
  gpus_[ordinal] = named;
  return Declared::fresh;
}

std::optional<core::GpuId> Session::gpu_of(std::uint32_t ordinal) const {
  NVS_ASSERT(ordinal < gpus_.size());
  if (gpus_[ordinal] < 0) return std::nullopt;
  return static_cast<core::GpuId>(gpus_[ordinal]);
}

std::optional<std::uint32_t> Session::ordinal_of(core::GpuId gpu) const {
  const std::int16_t ordinal = ordinals_[core::index_of(gpu)];
  if (ordinal < 0) return std::nullopt;
  return static_cast<std::uint32_t>(ordinal);
}

}  // namespace nvs::daemon
