// SPDX-License-Identifier: Apache-2.0
// Through which daemon the program of `nvshare run` shares its GPU, and as part of which run. One
// `nvshare run` inside another belongs to the outer one: same daemon, same tenant.
#pragma once

#include <optional>
#include <string>

#include "cli/early_exit.h"
#include "cli/run_options.h"

namespace nvs::cli {

struct Sharing {
  std::string folder;
  std::string run;      // as in NVSHARE_RUN
  std::string warning;  // empty: none
  bool has_daemon = true;
};

struct SharingRequest {
  std::string program_folder;           // of this program
  std::optional<std::string> folder;    // NVSHARE_FOLDER
  std::optional<std::string> run;       // NVSHARE_RUN
  std::optional<std::string> priority;  // NVSHARE_PRIORITY
  std::optional<std::string> search_path;
};

// Finds the daemon, or starts one.
Outcome<Sharing> arrange_sharing(const RunOptions& options, const SharingRequest& request);

}  // namespace nvs::cli
