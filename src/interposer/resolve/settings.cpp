// SPDX-License-Identifier: Apache-2.0
#include "interposer/resolve/settings.h"

#include "interposer/plain_string.h"

namespace nvs::interposer {
namespace {

// What follows "name=" in an entry; null if the entry is of another name.
const char* value_of(const char* entry, const char* name) {
  const char* rest = after_prefix(entry, name);
  return rest != nullptr && *rest == '=' ? rest + 1 : nullptr;
}

bool means_yes(const char* value) { return !equal(value, "") && !equal(value, "0"); }

}  // namespace

Settings read_settings(const char* const* environment) {
  Settings settings;
  const char* disabled = "";
  const char* debug = "";
  const char* oversubscribe = "";
  const char* limits_of_run = "";
  const struct {
    const char* name;
    const char*& value;
  } known[] = {
      {"NVSHARE_DISABLE", disabled},
      {"NVSHARE_DEBUG", debug},
      {"NVSHARE_ENABLE_SINGLE_OVERSUB", oversubscribe},
      {"NVSHARE_DEBUG_FILE", settings.debug_file},
      {"NVSHARE_FOLDER", settings.folder},
      {"NVSHARE_RUN", settings.run},
      {"NVSHARE_PRIORITY", settings.priority},
      {"NVSHARE_POD_NAME", settings.pod},
      {"NVSHARE_POD_NAMESPACE", settings.pod_namespace},
      {"NVSHARE_GPU_MEMORY_LIMIT", settings.memory_limit},
      {"NVSHARE_GPU_CORE_LIMIT", settings.core_limit},
      {"NVSHARE_SLOT", settings.slot},
      {"NVSHARE_LIMITS_OF_RUN", limits_of_run},
  };
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    for (const auto& [name, value] : known) {
      if (const char* found = value_of(*environment, name)) value = found;
    }
  }
  settings.disabled = means_yes(disabled);
  settings.debug = means_yes(debug);
  settings.oversubscribe = means_yes(oversubscribe);
  // An older `nvshare run` says 1, and means both.
  const bool is_all = equal(limits_of_run, "1");
  settings.memory_of_run = is_all || contains(limits_of_run, "memory");
  settings.cores_of_run = is_all || contains(limits_of_run, "cores");
  return settings;
}

}  // namespace nvs::interposer
