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
  if (environment == nullptr) return settings;
  for (; *environment != nullptr; ++environment) {
    if (const char* value = value_of(*environment, "NVSHARE_DISABLE")) {
      settings.disabled = means_yes(value);
    } else if (const char* on = value_of(*environment, "NVSHARE_DEBUG")) {
      settings.debug = means_yes(on);
    } else if (const char* file = value_of(*environment, "NVSHARE_DEBUG_FILE")) {
      settings.debug_file = file;
    }
  }
  return settings;
}

}  // namespace nvs::interposer
