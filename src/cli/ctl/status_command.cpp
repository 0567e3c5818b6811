// SPDX-License-Identifier: Apache-2.0
// nvsharectl status
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/result.h"
#include "cli/ctl/admin_client.h"
#include "cli/ctl/admin_messages.h"
#include "cli/ctl/commands.h"
#include "cli/ctl/status_table.h"

namespace nvs::cli {
namespace {

// Of the terminal; into a file or a pipe nothing is cut off.
std::size_t output_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Outcome<std::string> status(const CtlOptions& options) {
  AdminClient daemon = NVS_TRY(AdminClient::connect(options.folder));
  const std::string answer = NVS_TRY(daemon.ask(status_request()));
  if (options.format == OutputFormat::json) return result_text(answer);
  return status_table(NVS_TRY(status_of(answer)), output_width());
}

}  // namespace

EarlyExit status_command(const CtlOptions& options) {
  const Outcome<std::string> text = status(options);
  return text ? EarlyExit{kExitOk, *text} : text.error();
}

}  // namespace nvs::cli
