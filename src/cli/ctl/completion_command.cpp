// SPDX-License-Identifier: Apache-2.0
// nvsharectl completion
#include "base/result.h"
#include "cli/ctl/admin_client.h"
#include "cli/ctl/admin_messages.h"
#include "cli/ctl/commands.h"
#include "cli/ctl/completion_scripts.h"
#include "cli/ctl/text_table.h"

namespace nvs::cli {
namespace {

Outcome<std::string> words_of_node(const CtlOptions& options) {
  AdminClient daemon = NVS_TRY(AdminClient::connect(options.folder));
  const std::string seen = NVS_TRY(daemon.ask(status_request()));
  const NodeStatus node = NVS_TRY(status_of(seen));
  std::string words;
  if (options.words == "tenants") {
    for (const TenantStatus& tenant : node.tenants) words += std::to_string(tenant.id) + "\n";
    for (const TenantStatus& tenant : node.tenants) words += harmless(tenant.name) + "\n";
  } else {
    words = "all\n";
    for (const GpuStatus& gpu : node.gpus) words += std::to_string(gpu.index) + "\n";
    for (const GpuStatus& gpu : node.gpus) words += harmless(gpu.uuid) + "\n";
  }
  return words;
}

}  // namespace

EarlyExit completion_command(const CtlOptions& options) {
  if (options.words == "bash") return {kExitOk, kBashCompletion};
  if (options.words == "zsh") return {kExitOk, kZshCompletion};
  if (options.words == "fish") return {kExitOk, kFishCompletion};
  const Outcome<std::string> words = words_of_node(options);
  return words ? EarlyExit{kExitOk, *words} : words.error();
}

}  // namespace nvs::cli
