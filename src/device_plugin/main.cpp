// SPDX-License-Identifier: Apache-2.0
// nvshare-device-plugin: see --help.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/log.h"
#include "device_plugin/find_holders.h"
#include "device_plugin/node_offer.h"
#include "device_plugin/options.h"
#include "device_plugin/plugin.h"
#include "os/signals.h"

namespace nvs::plugin {
namespace {

constexpr const char* kProgram = "nvshare-device-plugin";

int complain(const std::string& text, const char* hint) {
  std::fprintf(stderr, "%s: %s%s\n", kProgram, text.c_str(), hint);
  return kExitUsage;
}

int tell(const LoadedConfig& loaded) {
  for (const std::string& warning : loaded.config.warnings) {
    std::printf("warning: %s\n", warning.c_str());
  }
  for (const std::string& line : describe(loaded.config)) std::printf("%s\n", line.c_str());
  return 0;
}

int tell_holders(const PluginOptions& options) {
  const auto holders = find_holders(options);
  if (!holders) {
    std::fprintf(stderr, "%s: it is not known who has devices: %s\n", kProgram,
                 holders.error().c_str());
    return kExitFailed;
  }
  for (const SlotHolder& holder : *holders) {
    std::printf("%s/%s has %s in its container %s\n", holder.space.c_str(), holder.pod.c_str(),
                holder.slot.c_str(), holder.container.c_str());
  }
  return holders->empty() ? 0 : kExitFailed;
}

int run(std::vector<std::string> arguments) {
  const auto options =
      parse_options(std::move(arguments), [](const char* name) { return std::getenv(name); });
  if (!options) {
    if (options.error().code != 0) {
      return complain(options.error().text, " (see nvshare-device-plugin --help)");
    }
    std::fputs(options.error().text.c_str(), stdout);
    return 0;
  }
  if (options->only_asks_for_holders) return tell_holders(*options);
  const auto loaded = load_config(*options);
  if (!loaded) return complain(loaded.error(), "");
  if (options->only_checks) return tell(*loaded);
  start_log(options->log_levels, log_style(STDERR_FILENO, std::getenv("JOURNAL_STREAM")));
  // A log that nobody reads any more must not end the plugin.
  const Result<void> ignored = os::ignore_signal(SIGPIPE);
  if (!ignored) log(Level::warning, "a signal may end the plugin", {{"signal", SIGPIPE}});
  const auto plugin = Plugin::create(*options, *loaded);
  if (!plugin) {
    log(Level::error, "cannot start", {{"error", plugin.error()}});
    return kExitFailed;
  }
  const auto done = (*plugin)->run();
  if (!done) {
    log(Level::error, "ended", {{"error", done.error()}});
    return kExitFailed;
  }
  return 0;
}

}  // namespace
}  // namespace nvs::plugin

int main(int argc, char** argv) {
  return nvs::plugin::run(std::vector<std::string>(argv + 1, argv + argc));
}
