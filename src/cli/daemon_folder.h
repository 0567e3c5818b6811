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

// Where the same user's programs look that have the variable and this one does not (cron's, or
// those of a shell after su), or the other way round; empty where it names a place of its own.
std::string other_user_folder(const std::string& folder, uid_t user);

enum class Door { tenants, administrators };
// Of the user and the environment of this process: the first of the two in which a daemon listens
// there, the second one only if it is nobody else's; the first one where none does. Who knocks at
// the tenants' is waited for by the daemon until they end.
std::string own_folder(Door door);

// Why somebody else may have put what is in this folder there, where anybody can make one of that
// name; nothing where the folder is this user's alone, or there is none.
std::optional<std::string> why_not_ours(const std::string& folder);

std::string tenant_socket(const std::string& folder);
std::string admin_socket(const std::string& folder);

}  // namespace nvs::cli
