// SPDX-License-Identifier: Apache-2.0
#include "daemon/sessions.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "daemon/effects.h"
#include "daemon/faults.h"
#include "daemon/limits.h"
#include "os/process.h"
#include "os/unix_socket.h"

namespace nvs::daemon {
namespace {

constexpr std::uint32_t kInput = EPOLLIN | EPOLLRDHUP;
constexpr std::uint32_t kGone = EPOLLHUP | EPOLLRDHUP | EPOLLERR;

std::uint64_t number(core::ClientId client) { return static_cast<std::uint64_t>(client); }

}  // namespace

Sessions::Sessions(os::EventLoop& loop, Node& node, HostPool& host, Messages& messages,
                   const Places& places, Visitors* visitors)
    : loop_(loop),
      node_(node),
      host_(host),
      shared_(places.shared_files),
      messages_(messages),
      clients_max_(places.clients),
      visitors_(visitors) {}

Sessions::~Sessions() {
  let_go_of_listener();
  for (const auto& [id, connection] : connections_) {
    loop_.remove(connection->session.fd());
    loop_.remove(connection->peer.pidfd.get());
  }
}

Result<void> Sessions::listen(UniqueFd listener) {
  listener_ = os::move_up(std::move(listener));
  return watch_listener();
}

Result<void> Sessions::watch_listener() {
  return loop_.add(listener_.get(), EPOLLIN, [this](std::uint32_t) {
    accept_one();
    settle();
  });
}

// One a round: whoever connects again and again takes turns with the clients that work.
void Sessions::accept_one() {
  Result<UniqueFd> accepted = os::accept_unix(listener_.get());
  if (!accepted) {
    const int error = accepted.error().sys;
    const bool is_gone = error == EAGAIN || error == EINTR || error == ECONNABORTED;
    if (!is_gone) pause_accepting(accepted.error());
    return;
  }
  if (visitors_ != nullptr) visitors_->add(accepted->get());
  if (connections_.size() >= clients_max_) return refuse(std::move(*accepted), kTooMany);
  Result<Connection*> added = add_connection(std::move(*accepted));
  if (!added) return pause_accepting(added.error());
  ungreeted_.push_back({(*added)->session.id(), loop_.now() + kHelloWait});
  ++ungreeted_count_;
  make_room_among_ungreeted();
}

// The listening socket stays readable: without a pause the loop would turn without end.
void Sessions::pause_accepting(const Error& error) {
  log(Level::error, "cannot take another connection; trying again soon",
      {{"error", error.message()}, {"clients", connections_.size()}});
  loop_.remove(listener_.get());
  accept_again_ = loop_.now() + kAcceptPause;
}

Result<Sessions::Connection*> Sessions::add_connection(UniqueFd fd) {
  const auto id = static_cast<core::ClientId>(++clients_ever_);
  auto connection = std::make_unique<Connection>(id, os::move_up(std::move(fd)), loop_.now());
  connection->peer.pid = os::peer_pid(connection->session.fd());  // for the log, until Hello
  Connection* raw = connection.get();
  NVS_TRY(loop_.add(raw->session.fd(), kInput, [this, raw](std::uint32_t events) {
    on_socket(*raw, events);
    settle();
  }));
  connections_.emplace(id, std::move(connection));
  return raw;
}

void Sessions::refuse(UniqueFd fd, const Fault& fault) {
  Connection connection(core::ClientId{}, std::move(fd), loop_.now());
  connection.peer.pid = os::peer_pid(connection.session.fd());
  connection.session.send(goodbye_of(fault));
  log_fault(connection, fault);
}

void Sessions::make_room_among_ungreeted() {
  while (ungreeted_count_ > kUngreetedMax) {
    NVS_ASSERT(!ungreeted_.empty());
    Connection* oldest = find(ungreeted_.front().client);
    ungreeted_.pop_front();
    if (oldest != nullptr && !oldest->tenant) close_for(*oldest, kUngreetedTooMany);
  }
}

// Those that are being closed are no longer found.
Sessions::Connection* Sessions::find(core::ClientId client) {
  const auto found = connections_.find(client);
  if (found == connections_.end() || found->second->is_closing) return nullptr;
  return found->second.get();
}

void Sessions::on_socket(Connection& connection, std::uint32_t events) {
  if (connection.is_closing) return;
  // What it has sent before it went does not matter any more.
  if ((events & kGone) != 0) return close_gone(connection, "closed its connection");
  if ((events & EPOLLOUT) != 0) {
    connection.session.flush();
    after_output(connection);
  }
  if ((events & EPOLLIN) != 0 && !connection.is_closing) read_packet(connection);
}

// One packet a round, so that a client that sends without end takes turns with the others. What
// brings descriptors that it should not is never taken: they go with the connection.
void Sessions::read_packet(Connection& connection) {
  if (!origins_.may_be_read(connection.origin, loop_.now())) return pause(connection);
  alignas(8) std::byte packet[wire::kPacketMax];
  bool brings_files = false;
  const int socket = connection.session.fd();
  const os::Moved moved = os::peek_packet(socket, packet, sizeof packet, brings_files);
  if (moved.outcome == os::Transfer::not_now) return;
  if (moved.outcome == os::Transfer::closed) return close_gone(connection, "closed its connection");
  os::ForeignFile file;
  if (brings_files) {
    const Verdict verdict = look_at_file(connection, packet, moved.bytes, file);
    if (verdict) return close_for(connection, *verdict);
  }
  os::drop_packet(socket);
  origins_.count_message(connection.origin, loop_.now(), connection.session.gpus());
  if (!connection.session.take_message(loop_.now())) return close_for(connection, kFlood);
  const Verdict verdict = take_packet(connection, packet, moved.bytes, std::move(file));
  if (verdict) return close_for(connection, *verdict);
  after_output(connection);
}

// The one that may come with the packet, which is still in the socket.
Verdict Sessions::look_at_file(const Connection& connection, const void* packet, std::size_t size,
                               os::ForeignFile& file) {
  std::optional<wire::Type> type;
  if (const Verdict verdict = check_packet(packet, size, type)) return verdict;
  if (type != wire::Type::ShareMemory || !connection.tenant) return kTooManyFiles;
  const auto ticket = origins_.take_ticket(connection.origin);
  if (!ticket) return kOriginFilesTooMany;
  os::FirstFiles passed = os::peek_files(connection.session.fd());
  file = os::ForeignFile{std::move(passed[0])};
  os::ForeignFile second{std::move(passed[1])};
  file.keep(*ticket);
  second.keep(*ticket);
  if (second) return kTooManyFiles;
  return file ? std::nullopt : Verdict(kNoNumberForFile);
}

Verdict Sessions::take_packet(Connection& connection, const void* packet, std::size_t size,
                              os::ForeignFile file) {
  std::optional<wire::Type> type;
  const Verdict verdict = check_packet(packet, size, type);
  if (verdict || !type) return verdict;
  if (!connection.tenant) return take_hello(connection, *type, packet, size);
  if (SharedMemory::is_for_it(*type)) {
    const SharedMemory::Sender sender{connection.session, *connection.tenant, connection.origin};
    return shared_.take(sender, *type, packet, size, std::move(file));
  }
  const Messages::Sender sender{connection.session, *connection.tenant, connection.peer,
                                origins_.budgets(connection.origin)};
  return messages_.take(loop_.now(), sender, *type, packet, size, effects_);
}

void Sessions::after_output(Connection& connection) {
  if (connection.is_closing) return;
  const Session::Output output = connection.session.output();
  // It may have died since the loop last looked: a send hears of it first.
  if (output == Session::Output::gone) return close_gone(connection, "closed its connection");
  if (output == Session::Output::stuck) {
    log(Level::warning, "client closed: it does not read what it is sent",
        fields_about(connection, {}));
    return close(connection);
  }
  const bool wants_output = output == Session::Output::queued;
  if (wants_output == connection.is_watched_for_output) return;
  connection.is_watched_for_output = wants_output;
  watch(connection);
}

void Sessions::settle() {
  while (true) {
    tell_visible();
    for (const core::Effect& effect : effects_) {
      Connection* connection = find(client_of(effect));
      if (connection == nullptr) continue;
      send_effect(effect, connection->session);
      after_output(*connection);
      keep_watch(effect);
    }
    effects_.clear();
    send_host_answers();
    if (closing_.empty()) return;
    const core::ClientId client = closing_.back();
    closing_.pop_back();
    release(client);
  }
}

// Before the effects: a client had better know what it may see when its window opens.
void Sessions::tell_visible() {
  for (const MemoryBooks::Shown& shown : node_.memory().take_shown()) {
    Connection* connection = find(shown.client);
    if (connection == nullptr) continue;
    const auto ordinal = connection->session.ordinal_of(shown.gpu);
    NVS_ASSERT(ordinal.has_value());
    send(*connection, wire::Visible{*ordinal, 0, shown.total, shown.limit});
  }
}

void Sessions::send_host_answers() {
  for (const HostPool::Answer& answer : host_.take_answers()) {
    Connection* connection = find(answer.client);
    if (connection == nullptr) continue;
    host_.send(answer, connection->session);
    after_output(*connection);
  }
}

// The answer to a drain is passed on at once if the loop is awake when it comes.
void Sessions::keep_watch(const core::Effect& effect) {
  if (const auto* ready = std::get_if<core::GetReady>(&effect)) {
    const Instant expected = loop_.now() + ready->in;
    loop_.stay_awake(core::index_of(ready->gpu), expected - kAwakeBefore, expected + kAwakeAfter);
  } else if (const auto* open = std::get_if<core::OpenWindow>(&effect)) {
    loop_.may_sleep(core::index_of(open->gpu));
  }
}

void Sessions::tell_paused(const Tenant& tenant) {
  for (const core::ClientId client : tenant.clients) {
    Connection* connection = find(client);
    if (connection != nullptr) send(*connection, wire::Pause{tenant.paused ? 1U : 0U, 0});
  }
}

void Sessions::close(Connection& connection) {
  NVS_ASSERT(!connection.is_closing);
  connection.is_closing = true;
  if (!connection.tenant) --ungreeted_count_;
  closing_.push_back(connection.session.id());
}

void Sessions::close_for(Connection& connection, const Fault& fault) {
  connection.session.send(goodbye_of(fault));
  log_fault(connection, fault);
  close(connection);
}

void Sessions::close_gone(Connection& connection, const char* how) {
  if (connection.tenant) {
    log(Level::info, "client left",
        fields_about(connection, {{"gpus", gpus_of(connection)}, {"how", how}}));
  }
  close(connection);
}

void Sessions::release(core::ClientId client) {
  const auto found = connections_.find(client);
  NVS_ASSERT(found != connections_.end());
  const std::unique_ptr<Connection> connection = std::move(found->second);
  connections_.erase(found);
  loop_.remove(connection->session.fd());
  loop_.remove(connection->peer.pidfd.get());
  origins_.leave(connection->origin, loop_.now());
  if (!connection->tenant) return;
  host_.leave(client);
  shared_.leave(client);
  node_.leave(loop_.now(), client, effects_);
}

void Sessions::log_fault(const Connection& connection, const Fault& fault) {
  if (loop_.now() - fault_lines_since_ >= Duration::from_s(1)) {
    if (fault_lines_ > kFaultLinesPerSecond) {
      log(Level::warning, "more connections were closed for faults",
          {{"count", fault_lines_ - kFaultLinesPerSecond}});
    }
    fault_lines_since_ = loop_.now();
    fault_lines_ = 0;
  }
  if (++fault_lines_ > kFaultLinesPerSecond) return;
  log(Level::warning, "client closed", fields_about(connection, {{"reason", fault.text}}));
}

Fields Sessions::fields_about(const Connection& connection, const Fields& more) const {
  Fields fields{{"pid", connection.peer.pid}, {"client", number(connection.session.id())}};
  fields.insert(fields.end(), more.begin(), more.end());
  if (!connection.tenant) return fields;
  return fields_of(node_.clients().at(*connection.tenant), fields);
}

std::string Sessions::gpus_of(const Connection& connection) const {
  std::string uuids;
  const std::vector<GpuEntry>& entries = node_.gpus().entries();
  for (std::size_t index = 0; index < entries.size(); ++index) {
    if (!connection.session.ordinal_of(static_cast<core::GpuId>(index))) continue;
    uuids += (uuids.empty() ? "" : ",") + entries[index].gpu.uuid;
  }
  return uuids;
}

std::optional<Instant> Sessions::next_deadline() const {
  std::optional<Instant> earliest = accept_again_;
  const auto consider = [&](Instant at) { earliest = earliest ? std::min(*earliest, at) : at; };
  if (!ungreeted_.empty()) consider(ungreeted_.front().deadline);
  if (const auto end = pauses_.next_end()) consider(*end);
  return earliest;
}

void Sessions::on_deadline() {
  while (!ungreeted_.empty() && ungreeted_.front().deadline <= loop_.now()) {
    Connection* connection = find(ungreeted_.front().client);
    ungreeted_.pop_front();
    if (connection != nullptr && !connection->tenant) close_for(*connection, kNoHello);
  }
  if (accept_again_ && *accept_again_ <= loop_.now()) {
    accept_again_.reset();
    const Result<void> watched = watch_listener();
    if (!watched) pause_accepting(watched.error());
  }
  resume_paused();
  settle();
}

void Sessions::stop() {
  let_go_of_listener();
  for (const auto& [id, connection] : connections_) {
    connection->session.send(goodbye_of(kStopping));
    loop_.remove(connection->session.fd());
    loop_.remove(connection->peer.pidfd.get());
  }
  connections_.clear();
  ungreeted_.clear();
  ungreeted_count_ = 0;
}

}  // namespace nvs::daemon
