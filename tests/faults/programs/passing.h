// SPDX-License-Identifier: Apache-2.0
// How tenants pass memory on to each other: handles as words, descriptors through a socket.
#pragma once

#include <string>

#include "cuda_api/cuda.h"

namespace nvs::faults {

std::string text_of(const CUipcMemHandle& handle);
CUipcMemHandle handle_of(const std::string& text);

/// To whoever waits under that name, of the abstract kind; and from whoever sends. `bound` is
/// called once somebody can send.
void send_file(const std::string& name, int file);
template <class Bound>
int receive_file(const std::string& name, Bound bound);

namespace passing {
int listen_at(const std::string& name);
int receive(int socket);
}  // namespace passing

template <class Bound>
int receive_file(const std::string& name, Bound bound) {
  const int socket = passing::listen_at(name);
  bound();
  return passing::receive(socket);
}

}  // namespace nvs::faults
