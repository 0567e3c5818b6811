// SPDX-License-Identifier: Apache-2.0
// nvsharectl set
#include "base/result.h"
#include "cli/ctl/admin_client.h"
#include "cli/ctl/admin_messages.h"
#include "cli/ctl/commands.h"

namespace nvs::cli {
namespace {

std::string request_of(const CtlOptions& options) {
  const std::string& setting = options.setting;
  if (setting == "priority") return priority_request(options.value, options.tenant);
  if (setting == "weight") return weight_request(options.value, options.tenant);
  if (setting == "memory" || setting == "cores") {
    return limit_request(setting, options.value, options.tenant);
  }
  return set_request(setting, options.value, options.gpus);
}

Outcome<void> set(const CtlOptions& options) {
  AdminClient daemon = NVS_TRY(AdminClient::connect(options.folder));
  const std::string answer = NVS_TRY(daemon.ask(request_of(options)));
  return check_change(answer);
}

}  // namespace

EarlyExit set_command(const CtlOptions& options) {
  const Outcome<void> done = set(options);
  return done ? EarlyExit{kExitOk, ""} : done.error();
}

}  // namespace nvs::cli
