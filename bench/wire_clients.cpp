// SPDX-License-Identifier: Apache-2.0
#include "bench/wire_clients.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>

#include "bench/child.h"
#include "bench/failure.h"
#include "os/unix_socket.h"
#include "wire/codec.h"

namespace nvs::bench {
namespace {

constexpr double kWelcomeSeconds = 30;
constexpr double kPingSeconds = 1;
constexpr int kEventsMax = 256;
constexpr int kWait_ms = 10;
constexpr wire::u32 kOrdinal = 0;

}  // namespace

WireClients::WireClients(const std::string& folder, const WireClientsPlan& plan)
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), clients_(plan.clients) {
  const std::string path = folder + "/" + wire::kTenantSocket;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Result<UniqueFd> fd = os::connect_unix(path, os::SocketKind::packets);
    if (!fd) {
      throw Failure(fmt::format("client {}: {}: {}", i + 1, path, fd.error().message()));
    }
    clients_[i].fd = std::move(*fd);
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.u64 = i;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, clients_[i].fd.get(), &interest) != 0) {
      throw Failure(fmt::format("epoll_ctl: {}", std::strerror(errno)));
    }
    introduce(i, plan);
    serve(0);
  }
  const std::int64_t deadline = now_ns() + nanoseconds(kWelcomeSeconds);
  while (known_ < clients_.size()) {
    if (now_ns() > deadline) {
      throw Failure(fmt::format("the daemon has greeted {} of {} clients", known_, plan.clients));
    }
    serve(kWait_ms);
  }
}

template <class Message>
void WireClients::send(const Client& client, const Message& message) const {
  wire::Packet<Message> packet;
  packet.message = message;
  if (os::send(client.fd.get(), &packet, sizeof packet).outcome != os::Transfer::done) {
    throw Failure("the daemon does not take a packet");
  }
}

// One process may be many tenants: those outside containers are told apart by the run that they
// belong to.
void WireClients::introduce(std::size_t index, const WireClientsPlan& plan) {
  Client& client = clients_[index];
  client.runner = index < plan.runners;
  wire::Hello hello;
  hello.run = index + 1;
  const std::string program = fmt::format("client-{}", index + 1);
  std::memcpy(hello.program, program.c_str(), program.size() + 1);
  send(client, hello);
  wire::UseGpu use;
  use.ordinal = kOrdinal;
  const std::size_t gpu = client.runner ? index % plan.gpus : 0;
  use.uuid[0] = static_cast<std::uint8_t>(gpu + 1);
  if (plan.gpu) std::copy(plan.gpu->begin(), plan.gpu->end(), use.uuid);
  send(client, use);
}

void WireClients::want(const Client& client) const {
  wire::Want message;
  message.ordinal = kOrdinal;
  send(client, message);
}

void WireClients::wait_for_window() {
  counted_ = {};
  want(clients_.front());
  const std::int64_t deadline = now_ns() + nanoseconds(kWelcomeSeconds);
  while (counted_.windows == 0) {
    if (now_ns() > deadline) throw Failure("the daemon gives a client no window");
    serve(kWait_ms);
  }
}

bool WireClients::flood(double per_second, std::int64_t until_ns) {
  const std::int64_t every = nanoseconds(1 / per_second);
  wire::Packet<wire::Ping> packet;
  std::int64_t due_ns = now_ns();
  for (std::int64_t now = due_ns; now < until_ns; now = now_ns()) {
    for (; due_ns <= now; due_ns += every) {
      ++packet.message.number;
      if (os::send(clients_.front().fd.get(), &packet, sizeof packet).outcome ==
          os::Transfer::closed) {
        return false;
      }
    }
    // Closed while there is something to be read: the next message finds that out.
    try {
      serve(1);
    } catch (const Failure&) {
      return false;
    }
  }
  return true;
}

void WireClients::send_bytes(std::string_view bytes) const {
  if (os::send(clients_.front().fd.get(), bytes.data(), bytes.size()).outcome !=
      os::Transfer::done) {
    throw Failure("the daemon does not take a packet");
  }
}

WireClients::Counted WireClients::run(double seconds) {
  counted_ = {};
  for (const Client& client : clients_) {
    if (client.runner) want(client);
  }
  const std::int64_t end = now_ns() + nanoseconds(seconds);
  ping_at_ns_ = now_ns();
  for (std::int64_t now = now_ns(); now < end; now = now_ns()) {
    ping_those_due(now);
    serve(kWait_ms);
  }
  return counted_;
}

// Each of them once a second, evenly spread, as processes that know nothing of each other do.
void WireClients::ping_those_due(std::int64_t now) {
  const std::int64_t every = nanoseconds(kPingSeconds) / static_cast<std::int64_t>(clients_.size());
  for (; ping_at_ns_ <= now; ping_at_ns_ += every) {
    wire::Ping ping;
    ping.number = next_ping_;
    send(clients_[next_ping_ % clients_.size()], ping);
    ++next_ping_;
    ++counted_.pings;
  }
}

void WireClients::serve(int timeout_ms) {
  std::array<epoll_event, kEventsMax> events{};
  const int ready = ::epoll_wait(epoll_.get(), events.data(), kEventsMax, timeout_ms);
  for (int i = 0; i < ready; ++i) receive(clients_[events[static_cast<std::size_t>(i)].data.u64]);
}

void WireClients::receive(Client& client) {
  std::array<std::uint8_t, wire::kPacketMax> packet{};
  for (;;) {
    const os::Moved moved = os::receive_packet(client.fd.get(), packet.data(), packet.size());
    if (moved.outcome == os::Transfer::not_now) return;
    if (moved.outcome == os::Transfer::closed) throw Failure("the daemon closed a connection");
    handle(client, packet.data(), moved.bytes);
  }
}

void WireClients::handle(Client& client, const void* packet, std::size_t size) {
  const wire::Arrival arrival = wire::inspect(packet, size, wire::Sender::daemon);
  if (arrival.fault != wire::Fault::none) {
    throw Failure(fmt::format("a packet of the daemon: {}", wire::text_of(arrival.fault)));
  }
  if (arrival.type == wire::Type::Open) {
    wire::Open open;
    if (!wire::decode(packet, size, open)) throw Failure("the daemon sent a wrong Open");
    // One with the same grant only changes the terms.
    if (std::exchange(client.grant, open.grant) != open.grant) ++counted_.windows;
  }
  if (arrival.type == wire::Type::Pong) ++counted_.pongs;
  if (arrival.type == wire::Type::GpuKnown) {
    wire::GpuKnown known;
    if (!wire::decode(packet, size, known) || known.known == 0) {
      throw Failure("the daemon does not take a GPU that a client names");
    }
    known_ += client.gpu_known ? 0 : 1;
    client.gpu_known = true;
  }
  if (arrival.type == wire::Type::Close) {
    wire::Close close;
    if (!wire::decode(packet, size, close)) throw Failure("the daemon sent a wrong Close");
    wire::Drained drained;
    drained.ordinal = close.ordinal;
    drained.grant = close.grant;
    drained.waiting = 1;
    send(client, drained);
  }
}

}  // namespace nvs::bench
