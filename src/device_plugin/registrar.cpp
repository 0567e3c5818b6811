// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/registrar.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <utility>

#include <unistd.h>

#include "base/log.h"
#include "device_plugin/kubelet_client.h"
#include "os/unix_socket.h"

namespace nvs::plugin {
namespace {

constexpr const char* kKubeletSocket = "/kubelet.sock";
// The kubelet dials us back for up to 10 s before it answers.
constexpr Duration kRegisterPatience = Duration::from_s(12);

}  // namespace

Registrar::Registrar(std::string folder, SocketNames names, Answers& answers, Post post)
    : folder_(std::move(folder)), names_(names), answers_(answers), post_(std::move(post)) {}

Registrar::~Registrar() { stop(); }

void Registrar::offer(Instant now, const std::set<std::string>& resources) {
  for (auto& [resource, entry] : entries_) {
    if (resources.contains(resource)) continue;
    Registration::Effects effects;
    entry.registration.stop(effects);
    perform(now, resource, entry, std::move(effects));
    log(Level::info, "no longer offered", {{"resource", resource}});
  }
  std::erase_if(entries_, [&](const auto& one) { return !resources.contains(one.first); });
  for (const std::string& resource : resources) {
    const auto [at, is_new] =
        entries_.try_emplace(resource, Entry([this, resource] { return names_.next(resource); }));
    Registration::Effects effects;
    if (is_new) {
      at->second.registration.start(now, effects);
    } else {
      at->second.registration.reload(now, effects);
    }
    perform(now, resource, at->second, std::move(effects));
  }
}

void Registrar::take(Instant now, const RegistrationNews& news) {
  const auto found = entries_.find(news.resource);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  Registration::Effects effects;
  switch (news.kind) {
    case RegistrationNews::Kind::registered:
      log(Level::info, "registered", {{"resource", news.resource}, {"socket", news.socket}});
      entry.registration.registered(now, news.socket, Outcome::good, effects);
      break;
    case RegistrationNews::Kind::failed:
      log(Level::warning, "not registered",
          {{"resource", news.resource}, {"socket", news.socket}, {"error", news.error}});
      entry.registration.registered(now, news.socket, Outcome::failed, effects);
      break;
    case RegistrationNews::Kind::stream_began:
      entry.registration.stream_began(now, news.socket);
      break;
    case RegistrationNews::Kind::stream_ended:
      log(Level::debug, "stream ended", {{"resource", news.resource}, {"socket", news.socket}});
      entry.registration.stream_ended(now, news.socket, effects);
      break;
    case RegistrationNews::Kind::allocated:
      break;
  }
  perform(now, news.resource, entry, std::move(effects));
}

void Registrar::kubelet_came(Instant now) {
  for (auto& [resource, entry] : entries_) {
    Registration::Effects effects;
    entry.registration.kubelet_came(now, effects);
    perform(now, resource, entry, std::move(effects));
  }
}

void Registrar::socket_removed(Instant now, const std::string& name) {
  for (auto& [resource, entry] : entries_) {
    Registration::Effects effects;
    entry.registration.socket_removed(now, name, effects);
    perform(now, resource, entry, std::move(effects));
  }
}

void Registrar::tick(Instant now) {
  for (auto& [resource, entry] : entries_) {
    Registration::Effects effects;
    entry.registration.tick(now, effects);
    perform(now, resource, entry, std::move(effects));
  }
}

void Registrar::send_devices() {
  for (auto& [resource, entry] : entries_) {
    for (auto& [socket, server] : entry.servers) server->send_devices();
  }
}

void Registrar::stop() {
  stopping_.request_stop();
  for (auto& [resource, entry] : entries_) {
    Registration::Effects effects;
    entry.registration.stop(effects);
    for (const RegistrationEffect& effect : effects) drop(entry, std::get<Drop>(effect).socket);
  }
  entries_.clear();
}

std::optional<Instant> Registrar::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [resource, entry] : entries_) {
    const auto deadline = entry.registration.next_deadline();
    if (deadline) next = std::min(next.value_or(*deadline), *deadline);
  }
  return next;
}

std::string Registrar::unready() const {
  if (entries_.empty()) return "nothing is offered";
  for (const auto& [resource, entry] : entries_) {
    if (!entry.registration.is_ready()) return resource + " is not registered";
  }
  return "";
}

void Registrar::perform(Instant now, const std::string& resource, Entry& entry,
                        Registration::Effects effects) {
  std::deque<RegistrationEffect> left(effects.begin(), effects.end());
  while (!left.empty()) {
    const RegistrationEffect effect = std::move(left.front());
    left.pop_front();
    if (const auto* wanted = std::get_if<Serve>(&effect)) {
      Registration::Effects more;
      entry.registration.served(now, wanted->socket, serve(resource, entry, wanted->socket), more);
      left.insert(left.end(), more.begin(), more.end());
    } else if (const auto* told = std::get_if<Announce>(&effect)) {
      announce(resource, told->socket);
    } else {
      drop(entry, std::get<Drop>(effect).socket);
    }
  }
  const bool is_ready = entry.registration.is_ready();
  if (is_ready != std::exchange(entry.was_ready, is_ready)) {
    log(is_ready ? Level::info : Level::warning, is_ready ? "the kubelet listens" : "unregistered",
        {{"resource", resource}, {"socket", entry.registration.socket()}});
  }
}

Outcome Registrar::serve(const std::string& resource, Entry& entry, const std::string& socket) {
  using Kind = RegistrationNews::Kind;
  const auto tell = [post = post_, resource, socket](Kind kind) {
    return [post, resource, socket, kind] { post({kind, resource, socket}); };
  };
  auto server = PluginServer::serve(folder_ + "/" + socket, resource, answers_,
                                    {.stream_began = tell(Kind::stream_began),
                                     .stream_ended = tell(Kind::stream_ended),
                                     .allocated = tell(Kind::allocated)});
  if (!server) {
    log(Level::error, "cannot serve", {{"resource", resource}, {"error", server.error()}});
    return Outcome::failed;
  }
  entry.servers[socket] = *std::move(server);
  return Outcome::good;
}

void Registrar::announce(const std::string& resource, const std::string& socket) {
  const Preference preference = answers_.prefers(resource) ? Preference::offered : Preference::none;
  later([post = post_, kubelet = folder_ + kKubeletSocket, resource, socket, preference,
         stop = stopping_.get_token()] {
    const auto done =
        register_with_kubelet(kubelet, socket, resource, preference, kRegisterPatience, stop);
    if (done) {
      post({RegistrationNews::Kind::registered, resource, socket});
    } else {
      post({RegistrationNews::Kind::failed, resource, socket, done.error()});
    }
  });
}

void Registrar::drop(Entry& entry, const std::string& socket) {
  const auto found = entry.servers.find(socket);
  if (found == entry.servers.end()) return;
  // Its end waits for calls that are under way.
  std::shared_ptr<PluginServer> server = std::move(found->second);
  entry.servers.erase(found);
  later([server]() mutable { server.reset(); });
}

void sweep_sockets(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!is_our_socket(name) || !entry.is_socket(error)) continue;
    const auto connection = os::connect_unix(entry.path().string(), os::SocketKind::stream);
    if (connection || connection.error().sys != ECONNREFUSED) continue;
    ::unlink(entry.path().c_str());
    log(Level::info, "removed a socket that nobody serves", {{"socket", name}});
  }
}

}  // namespace nvs::plugin
