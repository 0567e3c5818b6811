// SPDX-License-Identifier: Apache-2.0
// How a connection becomes a client: its Hello, who it is, and whether there is a place for it.
#include <cstring>
#include <string>
#include <utility>

#include <unistd.h>

#include "base/log.h"
#include "daemon/faults.h"
#include "daemon/introduction.h"
#include "daemon/limits.h"
#include "daemon/sessions.h"

namespace nvs::daemon {
namespace {

constexpr std::uint16_t kAccountVersion = 2;  // of the protocol, since when there are accounts

}  // namespace

Verdict Sessions::take_hello(Connection& connection, wire::Type type, const void* packet,
                             std::size_t size) {
  if (type != wire::Type::Hello) return kNotHello;
  wire::Hello hello;
  if (!wire::decode(packet, size, hello)) {
    return Fault{wire::GoodbyeReason::garbage, wire::text_of(wire::Fault::field)};
  }
  Result<Peer> peer = identify(connection.session.fd(), hello.run);
  if (!peer) {
    log(Level::debug, "identify", {{"error", peer.error().message()}});
    return kUnidentified;
  }
  connection.peer = std::move(*peer);
  if (const Verdict refused = admit(connection)) return refused;
  wire::Header header{};
  std::memcpy(&header, packet, sizeof header);
  return join(connection, hello, header.version);
}

Verdict Sessions::admit(Connection& connection) {
  const Tenant* known = node_.clients().find(connection.peer.tenant_key);
  if (known != nullptr && known->clients.size() >= kTenantClientsMax) return kTenantTooMany;
  const std::string origin = origin_of(connection.peer, ::geteuid());
  switch (origins_.enter(origin, loop_.now())) {
    case Origins::Answer::too_many:
      return kOriginTooMany;
    case Origins::Answer::too_often:
      return kOriginTooOften;
    case Origins::Answer::welcome:
      connection.origin = origin;
  }
  return std::nullopt;
}

Verdict Sessions::join(Connection& connection, const wire::Hello& hello, std::uint16_t version) {
  const Peer& peer = connection.peer;
  const core::ClientId client = connection.session.id();
  if (peer.pidfd) {
    // A child that was forked may keep the socket open when the client itself is dead.
    const auto added = loop_.add(peer.pidfd.get(), EPOLLIN, [this, &connection](std::uint32_t) {
      if (!connection.is_closing) close_gone(connection, "its process ended");
      settle();
    });
    if (!added) return kTooMany;
  }
  const Tenant& tenant =
      node_.join(loop_.now(), client, peer.pid, tenant_of(peer, hello), wishes_of(hello), effects_);
  host_.join(client, tenant.id);
  connection.tenant = tenant.id;
  --ungreeted_count_;
  wire::Welcome welcome;
  welcome.client = static_cast<wire::u64>(client);
  welcome.tenant = static_cast<wire::u64>(tenant.id);
  send(connection, welcome);
  if (version >= kAccountVersion) send_account(connection);
  const bool believes_paused = (hello.flags & wire::kPaused) != 0;
  if (tenant.paused || believes_paused) send(connection, wire::Pause{tenant.paused ? 1U : 0U, 0});
  log(Level::info, "client joined",
      fields_about(
          connection,
          {{"program", hello.program}, {"container", peer.container}, {"paused", tenant.paused}}));
  return std::nullopt;
}

// Before it hears of any GPU: what it allocates there counts from the first byte on.
void Sessions::send_account(Connection& connection) {
  const auto place = node_.open_account(connection.session.id());
  if (!place) return;
  connection.session.send_with_file(wire::MemoryAccount{place->slot, 0, place->bytes}, place->file);
  after_output(connection);
}

}  // namespace nvs::daemon
