// SPDX-License-Identifier: Apache-2.0
// The daemon's folder: made if need be, safe from others, held by one daemon at a time, with its
// sockets in it.
#pragma once

#include <string>

#include <sys/types.h>
#include <tl/expected.hpp>

#include "base/unique_fd.h"

namespace nvs::daemon {

class Folder {
 public:
  // The error is a sentence for the user. Sockets that a dead daemon left are replaced.
  static tl::expected<Folder, std::string> open(const std::string& path, uid_t self);

  Folder(Folder&&) = default;
  Folder& operator=(Folder&&) = default;

  // Listening sockets, each to be taken once.
  UniqueFd take_tenant_socket() { return std::move(tenant_socket_); }
  UniqueFd take_admin_socket() { return std::move(admin_socket_); }
  UniqueFd take_plugin_socket() { return std::move(plugin_socket_); }

  // Another one for tenants, in place of the one that was taken.
  tl::expected<UniqueFd, std::string> listen_for_tenants() const;

  // On a clean stop, so that nobody finds a socket without anyone behind it. The folders stay:
  // containers have tenant/ mounted, and must find the next daemon's socket in the same one.
  void remove_sockets() const;
  // Another daemon may have the folder. Nothing is written there afterwards.
  void unlock() { lock_.reset(); }

 private:
  Folder() = default;

  std::string path_;
  mode_t tenant_mode_ = 0;
  UniqueFd lock_;
  UniqueFd tenant_socket_;
  UniqueFd admin_socket_;
  UniqueFd plugin_socket_;
};

}  // namespace nvs::daemon
