// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/connection.h"

#include <atomic>

#include <errno.h>

#include "os/futex_lock.h"
#include "os/passed_file.h"
#include "os/socket_calls.h"

namespace nvs::interposer::connection {
namespace {

// Away from the low numbers, which shells and daemons use and close.
constexpr int kLowestNumber = 700;

constinit sockaddr_un address = {};
constinit os::FutexLock lock;  // held for a send, and while the number changes hands
constinit std::atomic<int> number{-1};
constinit os::FileId file = {};
constinit std::atomic<std::uint32_t> connections{0};

// Appends to the path; false if there is no room for it and a final zero.
bool append(std::size_t& size, const char* text) {
  for (; *text != '\0'; ++text) {
    if (size + 1 >= sizeof address.sun_path) return false;
    address.sun_path[size++] = *text;
  }
  address.sun_path[size] = '\0';
  return true;
}

bool is_ours(int fd) { return fd >= 0 && os::file_behind(fd) == file; }

}  // namespace

bool set_folder(const char* folder) {
  std::size_t size = 0;
  address.sun_family = AF_UNIX;
  return append(size, folder) && append(size, "/") && append(size, wire::kTenantSocket);
}

bool has_socket() { return address.sun_family == AF_UNIX && os::is_there(address.sun_path); }

int open_another() {
  if (address.sun_family != AF_UNIX) return -1;
  const long made = os::packet_socket();
  if (made < 0) return -1;
  const auto fd = static_cast<int>(os::move_up(static_cast<int>(made), kLowestNumber));
  if (os::connect_socket(fd, address) == 0) return fd;
  os::close_file(fd);
  return -1;
}

bool connect() {
  const int fd = open_another();
  if (fd < 0) return false;
  const os::FutexGuard guard(lock);
  file = os::file_behind(fd);
  connections.fetch_add(1, std::memory_order_release);
  number.store(fd, std::memory_order_release);
  return true;
}

std::uint32_t times_connected() { return connections.load(std::memory_order_acquire); }

void disconnect() {
  const os::FutexGuard guard(lock);
  const int fd = number.exchange(-1);
  if (is_ours(fd)) os::close_file(fd);
}

bool is_connected() { return number.load(std::memory_order_acquire) >= 0; }

Outcome send(const void* packet, std::size_t size) { return send(packet, size, -1); }

Outcome send(const void* packet, std::size_t size, int file) {
  const os::FutexGuard guard(lock);
  const int fd = number.load(std::memory_order_relaxed);
  if (!is_ours(fd)) return Outcome::lost;
  const long sent = file < 0 ? os::send_packet(fd, packet, size)
                             : os::send_packet_with_file(fd, packet, size, file);
  if (sent == static_cast<long>(size)) return Outcome::done;
  return sent == -EAGAIN || sent == -EINTR || sent == -ENOBUFS ? Outcome::again : Outcome::lost;
}

Outcome receive(void* packet, std::size_t capacity, std::size_t& size, int& file) {
  const int fd = number.load(std::memory_order_acquire);
  if (!is_ours(fd)) return Outcome::lost;
  const long received = os::receive_packet_with_file(fd, packet, capacity, file);
  if (received == -EAGAIN || received == -EINTR) return Outcome::again;
  if (received <= 0) return Outcome::lost;
  size = static_cast<std::size_t>(received);
  return Outcome::done;
}

void wait(std::int64_t timeout_ns) {
  const int fd = number.load(std::memory_order_acquire);
  os::wait_readable(is_ours(fd) ? fd : -1, timeout_ns);
}

bool has_unread() {
  const int fd = number.load(std::memory_order_acquire);
  return fd >= 0 && os::wait_readable(fd, 0) > 0;
}

void start_over_in_child() {
  lock.reset();
  const int fd = number.exchange(-1);
  if (is_ours(fd)) os::close_file(fd);
}

}  // namespace nvs::interposer::connection
