// SPDX-License-Identifier: Apache-2.0
// Where daemons have their sockets: the node's, and that of a user who has no node's daemon. Both
// programs must look in the same places.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace nvs::cli {

std::string node_folder();

// $XDG_RUNTIME_DIR/nvshare if that variable names a folder of this user's, else /tmp/nvshare-UID:
// after su or sudo the variable may still be another user's.
std::string user_folder(const std::string& runtime_folder, uid_t user);

// The same for the user and the environment of this process.
std::string own_folder();

// Why somebody else may have put what is in this folder there, where anybody can make one of that
// name; nothing where the folder is this user's alone, or there is none.
std::optional<std::string> why_not_ours(const std::string& folder);

std::string tenant_socket(const std::string& folder);
std::string admin_socket(const std::string& folder);

}  // namespace nvs::cli
