// SPDX-License-Identifier: Apache-2.0
#include "cli/sharing.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <sys/random.h>
#include <unistd.h>

#include "base/result.h"
#include "cli/daemon_folder.h"
#include "cli/daemon_search.h"
#include "cli/daemon_start.h"
#include "wire/run_number.h"

namespace nvs::cli {
namespace {

Outcome<std::string> new_run() {
  std::uint64_t number = 0;
  // Zero means none.
  while (number == 0) {
    if (::getrandom(&number, sizeof number, 0) != sizeof number && errno != EINTR) {
      return failure(std::string("cannot make a number for this run: ") + std::strerror(errno));
    }
  }
  char digits[wire::kRunDigitsMax + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return std::string(digits);
}

std::optional<std::string> unless_empty(const std::optional<std::string>& text) {
  return text && text->empty() ? std::nullopt : text;
}

Outcome<void> check(const SharingRequest& request) {
  const std::string folder = request.folder.value_or("");
  if (!folder.empty() && folder.front() != '/') {
    return failure("NVSHARE_FOLDER is '" + folder + "': it takes an absolute path");
  }
  const std::string priority = request.priority.value_or("");
  if (!priority.empty() && !is_priority(priority)) {
    return failure("NVSHARE_PRIORITY is '" + priority + "': it takes low, normal or high");
  }
  const std::string run = request.run.value_or("");
  if (!run.empty() && wire::parse_run(run.c_str()) == 0) {
    return failure("NVSHARE_RUN is '" + run +
                   "': it takes up to 16 hexadecimal digits, not all of them 0; unset it");
  }
  return {};
}

}  // namespace

Outcome<Sharing> arrange_sharing(const RunOptions& options, const SharingRequest& request) {
  NVS_TRY(check(request));
  const std::optional<std::string> outer = unless_empty(request.run);
  const std::string own = own_folder(Door::tenants);
  const DaemonChoice choice = choose_daemon(
      {unless_empty(request.folder), outer.has_value(), node_folder(), own}, real_probes());
  Sharing sharing{choice.folder, "", choice.warning};
  sharing.run = outer ? *outer : NVS_TRY(new_run());
  // Anybody can listen where this user's daemon would, and would be lent what programs have.
  const bool is_users =
      choice.folder == own || choice.folder == other_user_folder(own, ::geteuid());
  if (is_users) NVS_TRY(check_folder(choice.folder));
  if (!choice.start) return sharing;
  if (options.no_daemon) {
    // Where one would come, should it come later.
    sharing.folder = unless_empty(request.folder).value_or(node_folder());
    sharing.warning.clear();
    sharing.has_daemon = false;
    return sharing;
  }
  const std::string program = NVS_TRY(find_daemon(request.program_folder, request.search_path));
  NVS_TRY(start_daemon(program, choice.folder));
  return sharing;
}

}  // namespace nvs::cli
