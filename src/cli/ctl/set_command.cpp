// SPDX-License-Identifier: Apache-2.0
// nvsharectl set
#include "base/result.h"
#include "cli/ctl/admin_client.h"
#include "cli/ctl/admin_messages.h"
#include "cli/ctl/commands.h"

namespace nvs::cli {
namespace {

Outcome<void> set(const CtlOptions& options) {
  AdminClient daemon = NVS_TRY(AdminClient::connect(options.folder));
  const std::string request = options.setting == "priority"
                                  ? priority_request(options.value, options.tenant)
                                  : set_request(options.setting, options.value, options.gpu);
  const std::string answer = NVS_TRY(daemon.ask(request));
  NVS_TRY(result_text(answer));
  return {};
}

}  // namespace

EarlyExit set_command(const CtlOptions& options) {
  const Outcome<void> done = set(options);
  return done ? EarlyExit{kExitOk, ""} : done.error();
}

}  // namespace nvs::cli
