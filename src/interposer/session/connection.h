// SPDX-License-Identifier: Apache-2.0
// The socket to the daemon. Any thread may send; one thread connects, receives and disconnects. The
// program may close numbers that are not its own, so what is behind ours is looked at before each
// use: nothing of ours ever goes into a file or a connection of the program's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/codec.h"

namespace nvs::interposer::connection {

// The path of the socket; false if it does not fit into an address. Called once, before all else.
bool set_folder(const char* folder);

// Whether there is a socket in it; nobody may listen there any more.
bool has_socket();

enum class Outcome { done, again, lost };

// Not done: there is no daemon, or it does not take us now.
bool connect();
void disconnect();
// A second one that the caller sees to, and closes soon; negative: as above.
int open_another();
bool is_connected();
// So far: what was said in one connection, nobody knows in the next.
std::uint32_t times_connected();

Outcome send(const void* packet, std::size_t size);
// With a descriptor, which stays the caller's.
Outcome send(const void* packet, std::size_t size, int file);
// `size` is what came; `again`: nothing did. `file` is the caller's if one came along, else -1.
Outcome receive(void* packet, std::size_t capacity, std::size_t& size, int& file);
// Something has come that was not received yet, or has become of the connection that its listener
// does not know yet. For any thread, which only waits for that: what is behind the number is not
// looked at, since nothing goes into it, and a wrong answer costs a moment.
bool has_unread();
// Until something comes, for `timeout_ns` at most. Without a connection it only sleeps.
void wait(std::int64_t timeout_ns);

template <class Message>
Outcome send(const Message& message) {
  wire::Packet<Message> packet;
  packet.message = message;
  return send(&packet, sizeof packet);
}

void start_over_in_child();

}  // namespace nvs::interposer::connection
