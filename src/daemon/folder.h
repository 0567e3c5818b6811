// SPDX-License-Identifier: Apache-2.0
// The daemon's folder: made if need be, safe from others, held by one daemon at a time, with its
// sockets in it.
#pragma once

#include <string>

#include <sys/types.h>
#include <tl/expected.hpp>

#include "base/unique_fd.h"
#include "os/unix_socket.h"

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
  tl::expected<UniqueFd, std::string> listen_for_tenants();

  // The socket for tenants is gone from its path, or another one is there: whoever removed the
  // folder (a user's is, once they log out) has made room for another daemon in one of that name.
  // False where the system does not tell.
  bool is_lost() const;

  // On a clean stop, so that nobody finds a socket without anyone behind it; not those of another
  // daemon. The folders stay: containers have tenant/ mounted, and must find the next daemon's
  // socket in the same one.
  void remove_sockets() const;
  // Another daemon may have the folder. Nothing is written there afterwards.
  void unlock() { lock_.reset(); }

 private:
  struct Name {
    std::string path;
    // To the file, not to be read. While it is open no other file has the same number.
    UniqueFd file;
  };

  Folder() = default;
  tl::expected<UniqueFd, std::string> listen(Name& name, const char* socket, os::SocketKind kind,
                                             mode_t mode) const;

  std::string path_;
  mode_t tenant_mode_ = 0;
  UniqueFd lock_;
  UniqueFd tenant_socket_;
  UniqueFd admin_socket_;
  UniqueFd plugin_socket_;
  Name tenant_name_;
  Name admin_name_;
  Name plugin_name_;
};

}  // namespace nvs::daemon
