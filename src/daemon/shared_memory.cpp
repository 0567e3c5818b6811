// SPDX-License-Identifier: Apache-2.0
#include "daemon/shared_memory.h"

#include <algorithm>
#include <utility>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

template <class Message>
auto token_of(const Message& message) {
  std::array<std::uint8_t, sizeof message.token> token;
  std::copy_n(message.token, token.size(), token.begin());
  return token;
}

// A user outside of containers can be as many tenants as it likes.
std::string owner_of(const SharedMemory::Sender& sender) {
  if (!sender.origin.empty()) return sender.origin;
  return "tenant:" + std::to_string(static_cast<std::uint64_t>(sender.tenant));
}

}  // namespace

bool SharedMemory::is_for_it(wire::Type type) {
  return type == wire::Type::ShareMemory || type == wire::Type::UnshareMemory ||
         type == wire::Type::OpenShared;
}

Verdict SharedMemory::take(const Sender& sender, wire::Type type, const void* packet,
                           std::size_t size, os::ForeignFile file) {
  wire::ShareMemory chunk;
  wire::UnshareMemory done;
  wire::OpenShared wanted;
  if (type == wire::Type::ShareMemory && wire::decode(packet, size, chunk)) {
    return share(sender, chunk, std::move(file));
  }
  if (type == wire::Type::UnshareMemory && wire::decode(packet, size, done)) {
    unshare(sender.session.id(), token_of(done));
    return std::nullopt;
  }
  if (type == wire::Type::OpenShared && wire::decode(packet, size, wanted)) {
    return open(sender.session, wanted);
  }
  return garbage(wire::text_of(wire::Fault::field));
}

bool SharedMemory::has_room_for(const Sender& sender) const {
  if (files_ >= files_max_) return false;
  const auto mine = files_of_.find(owner_of(sender));
  const std::size_t files = mine == files_of_.end() ? 0 : mine->second;
  const std::size_t part = sender.origin.empty() ? files_max_ : files_max_ / kSharedFilesOriginPart;
  return files < std::min(kSharedFilesOfTenantMax, part);
}

// Without room for it, or without the descriptor (the kernel had no number for it), it is as if it
// had not been said: the client asks for it before it tells anybody.
Verdict SharedMemory::share(const Sender& sender, const wire::ShareMemory& message,
                            os::ForeignFile file) {
  const core::ClientId client = sender.session.id();
  const Token token = token_of(message);
  const auto known = shared_.find(token);
  if (known != shared_.end() && known->second.client != client) {
    return garbage("it shares memory under the token of somebody else");
  }
  if (!file || !has_room_for(sender)) return std::nullopt;
  Shared& shared =
      shared_.try_emplace(token, Shared{client, owner_of(sender), message.count, {}}).first->second;
  const bool is_new =
      shared.count == message.count &&
      shared.chunks.try_emplace(message.index, Chunk{std::move(file), message.bytes}).second;
  if (!is_new) return garbage("it shares memory under a token twice");
  ++files_of_[shared.owner];
  ++files_;
  return std::nullopt;
}

void SharedMemory::forget(std::map<Token, Shared>::iterator shared) {
  const std::size_t files = shared->second.chunks.size();
  files_ -= files;
  const auto mine = files_of_.find(shared->second.owner);
  if (mine != files_of_.end() && (mine->second -= files) == 0) files_of_.erase(mine);
  shared_.erase(shared);
}

void SharedMemory::unshare(core::ClientId client, const Token& token) {
  const auto shared = shared_.find(token);
  if (shared != shared_.end() && shared->second.client == client) forget(shared);
}

void SharedMemory::leave(core::ClientId client) {
  for (auto next = shared_.begin(); next != shared_.end();) {
    const auto shared = next++;
    if (shared->second.client == client) forget(shared);
  }
}

// A client asks for one at a time. Whoever asks on without reading would have the daemon keep a
// descriptor for each answer.
Verdict SharedMemory::open(Session& session, const wire::OpenShared& message) const {
  if (session.output() != Session::Output::flowing) {
    return garbage("it asks for shared memory and does not read the answers");
  }
  const auto shared = shared_.find(token_of(message));
  if (shared != shared_.end()) {
    const auto chunk = shared->second.chunks.find(message.index);
    if (chunk != shared->second.chunks.end()) {
      wire::SharedChunk answer;
      answer.request = message.request;
      answer.index = message.index;
      answer.count = shared->second.count;
      answer.bytes = chunk->second.bytes;
      session.send_with_file(answer, chunk->second.file.get());
      return std::nullopt;
    }
  }
  wire::SharedGone answer;
  answer.request = message.request;
  session.send(answer);
  return std::nullopt;
}

}  // namespace nvs::daemon
