// SPDX-License-Identifier: Apache-2.0
// All resources and their registrations: performs what the state machines ask for, and tells them
// what came of it. Belongs to the event loop; what would wait is done by the worker.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <variant>

#include "device_plugin/answers.h"
#include "device_plugin/mailbox.h"
#include "device_plugin/plugin_server.h"
#include "device_plugin/registration.h"
#include "device_plugin/socket_names.h"
#include "device_plugin/worker.h"

namespace nvs::plugin {

// What other threads have to say about a registration.
struct RegistrationNews {
  enum class Kind : std::uint8_t { registered, failed, stream_began, stream_ended, allocated };
  Kind kind;
  std::string resource;
  std::string socket;
  std::string error = {};
};

class Registrar {
 public:
  using Post = std::function<void(RegistrationNews)>;

  // `post` is called from any thread, and its messages come back by take().
  Registrar(std::string folder, SocketNames names, Answers& answers, Post post);
  ~Registrar();

  // Registers what is new, drops what is gone, and registers the others again.
  void offer(Instant now, const std::set<std::string>& resources);
  void take(Instant now, const RegistrationNews& news);
  void kubelet_came(Instant now);
  void socket_removed(Instant now, const std::string& name);
  void tick(Instant now);
  // The devices or their health changed.
  void send_devices();
  void stop();

  std::optional<Instant> next_deadline() const;
  // Empty if all are registered and listened to; else which is not.
  std::string unready() const;
  // Does it in the worker, after what it has to do already.
  void later(std::function<void()> job) { worker_.give(std::move(job)); }

 private:
  struct Entry {
    explicit Entry(std::function<std::string()> next) : registration(std::move(next)) {}
    Registration registration;
    std::map<std::string, std::unique_ptr<PluginServer>> servers;  // by socket
    bool was_ready = false;
  };

  void perform(Instant now, const std::string& resource, Entry& entry,
               Registration::Effects effects);
  Outcome serve(const std::string& resource, Entry& entry, const std::string& socket);
  void announce(const std::string& resource, const std::string& socket);
  void drop(Entry& entry, const std::string& socket);

  std::string folder_;
  SocketNames names_;
  Answers& answers_;
  Post post_;
  std::map<std::string, Entry> entries_;  // by resource
  std::stop_source stopping_;             // ends a call to the kubelet that is under way
  Worker worker_;
};

// Removes sockets of ours that nobody serves, as one that was killed leaves them.
void sweep_sockets(const std::string& folder);

}  // namespace nvs::plugin
