// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_folder.h"

#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

#include "wire/messages.h"

namespace nvs::cli {

std::string node_folder() { return wire::kDefaultFolder; }

std::string user_folder(const std::string& runtime_folder, uid_t user) {
  struct stat found {};
  const bool usable = runtime_folder.starts_with('/') &&
                      ::stat(runtime_folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
                      found.st_uid == user;
  return usable ? runtime_folder + "/nvshare" : "/tmp/nvshare-" + std::to_string(user);
}

std::string own_folder() {
  const char* runtime_folder = std::getenv("XDG_RUNTIME_DIR");
  return user_folder(runtime_folder == nullptr ? "" : runtime_folder, ::geteuid());
}

std::string tenant_socket(const std::string& folder) { return folder + "/" + wire::kTenantSocket; }

std::string admin_socket(const std::string& folder) { return folder + "/" + wire::kAdminSocket; }

}  // namespace nvs::cli
