// SPDX-License-Identifier: Apache-2.0
// nvsharectl pause, nvsharectl resume
#include "base/result.h"
#include "cli/ctl/admin_client.h"
#include "cli/ctl/admin_messages.h"
#include "cli/ctl/commands.h"

namespace nvs::cli {
namespace {

Outcome<void> pause(const CtlOptions& options) {
  AdminClient daemon = NVS_TRY(AdminClient::connect(options.folder));
  const std::string request = pause_request(options.command == "pause", options.tenant);
  const std::string answer = NVS_TRY(daemon.ask(request));
  return check_change(answer);
}

}  // namespace

EarlyExit pause_command(const CtlOptions& options) {
  const Outcome<void> done = pause(options);
  return done ? EarlyExit{kExitOk, ""} : done.error();
}

}  // namespace nvs::cli
