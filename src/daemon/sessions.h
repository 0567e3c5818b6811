// SPDX-License-Identifier: Apache-2.0
// All connections of tenants: who comes and goes, their packets on the way to the core, and the
// core's effects on the way to them. A connection that misbehaves is closed with a reason in the
// log; the others do not notice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/instant.h"
#include "base/log.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/host_pool.h"
#include "daemon/identity.h"
#include "daemon/messages.h"
#include "daemon/node.h"
#include "daemon/origins.h"
#include "daemon/pauses.h"
#include "daemon/session.h"
#include "daemon/shared_memory.h"
#include "daemon/visitors.h"
#include "os/event_loop.h"
#include "os/foreign_file.h"

namespace nvs::daemon {

class Sessions {
 public:
  // What the system has descriptors for.
  struct Places {
    std::size_t clients;       // kClientsMax at most
    std::size_t shared_files;  // kSharedFilesMax at most
  };
  // `visitors` is told of everybody who connects, if it is not null.
  Sessions(os::EventLoop& loop, Node& node, HostPool& host, Messages& messages,
           const Places& places, Visitors* visitors);
  ~Sessions();
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  Result<void> listen(UniqueFd listener);

  // Whoever steps the node appends here, and then calls settle(): effects and the answers of the
  // host pool are sent, and connections that broke over it are closed.
  Effects& effects() { return effects_; }
  void settle();

  // Tells all clients of the tenant, who keep it in mind for a daemon that comes back.
  void tell_paused(const Tenant& tenant);

  // When on_deadline() has something to do. The core's own deadlines are not among them.
  std::optional<Instant> next_deadline() const;
  void on_deadline();

  std::size_t count() const { return connections_.size(); }
  // Nobody can connect any more, until listen() is called again. Who already had is served; whether
  // there was anybody.
  bool close_entrance();
  // Goodbye to everybody; nobody is accepted any more.
  void stop();

 private:
  struct Connection {
    Connection(core::ClientId id, UniqueFd fd, Instant now) : session(id, std::move(fd), now) {}

    Session session;
    std::optional<core::TenantId> tenant;  // once it has said Hello
    Peer peer;
    std::string origin;  // from Hello on
    bool is_closing = false;
    bool is_watched_for_output = false;
    bool is_paused = false;  // it is not read
  };
  struct Ungreeted {
    core::ClientId client;
    Instant deadline;
  };

  void accept_one();
  Result<void> watch_listener();
  void pause_accepting(const Error& error);
  void let_go_of_listener();
  Result<Connection*> add_connection(UniqueFd fd);
  void refuse(UniqueFd fd, const Fault& fault);
  void make_room_among_ungreeted();
  Connection* find(core::ClientId client);

  void on_socket(Connection& connection, std::uint32_t events);
  void read_packet(Connection& connection);
  Verdict look_at_file(const Connection& connection, const void* packet, std::size_t size,
                       os::ForeignFile& file);
  Verdict take_packet(Connection& connection, const void* packet, std::size_t size,
                      os::ForeignFile file);
  Verdict take_hello(Connection& connection, wire::Type type, const void* packet, std::size_t size);
  Verdict admit(Connection& connection);
  Verdict join(Connection& connection, const wire::Hello& hello, std::uint16_t version);
  void send_account(Connection& connection);

  template <class Message>
  void send(Connection& connection, const Message& message) {
    connection.session.send(message);
    after_output(connection);
  }
  void after_output(Connection& connection);
  // See sessions_pace.cpp.
  void watch(const Connection& connection);
  void pause(Connection& connection);
  void resume_paused();
  void tell_visible();
  void send_host_answers();
  void keep_watch(const core::Effect& effect);

  // The connection goes with the next settle(): until then it may be in use.
  void close(Connection& connection);
  void close_for(Connection& connection, const Fault& fault);
  void close_gone(Connection& connection, const char* how);
  void release(core::ClientId client);
  void log_fault(const Connection& connection, const Fault& fault);
  std::string gpus_of(const Connection& connection) const;
  Fields fields_about(const Connection& connection, const Fields& more) const;

  os::EventLoop& loop_;
  Node& node_;
  HostPool& host_;
  SharedMemory shared_;
  Origins origins_;
  Messages& messages_;
  std::size_t clients_max_;
  Visitors* visitors_;
  UniqueFd listener_;
  std::optional<Instant> accept_again_;
  std::uint64_t clients_ever_ = 0;
  std::unordered_map<core::ClientId, std::unique_ptr<Connection>> connections_;
  // In order of arrival. Those that have said Hello or left stay in it until their turn.
  std::deque<Ungreeted> ungreeted_;
  std::size_t ungreeted_count_ = 0;
  std::vector<core::ClientId> closing_;
  Pauses pauses_;
  Instant pause_line_after_;
  Effects effects_;
  Instant fault_lines_since_;
  int fault_lines_ = 0;
};

}  // namespace nvs::daemon
