// SPDX-License-Identifier: Apache-2.0
// What /proc/PID/environ holds: variables as "NAME=value", with a zero in between.
#pragma once

#include <algorithm>
#include <string_view>

namespace nvs::daemon {

template <class Look>
void for_each_variable(std::string_view environment, const Look& look) {
  while (!environment.empty()) {
    const std::string_view variable = environment.substr(0, environment.find('\0'));
    look(variable);
    environment.remove_prefix(std::min(variable.size() + 1, environment.size()));
  }
}

}  // namespace nvs::daemon
