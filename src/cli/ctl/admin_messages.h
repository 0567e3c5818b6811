// SPDX-License-Identifier: Apache-2.0
// The JSON of the admin socket: requests to the daemon, and what its answers mean. One of the few
// files that know JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/ctl/node_status.h"
#include "cli/early_exit.h"

namespace nvs::cli {

// Each is one line, without its end.
std::string status_request();
std::string trace_request(double seconds);
// `setting` is mode, window or turn; `value` a word or, for the last two, seconds.
std::string set_request(std::string_view setting, std::string_view value,
                        const std::vector<std::string>& gpus);
// A tenant is named by its number or by its name.
std::string pause_request(bool pause, std::string_view tenant);
std::string priority_request(std::string_view priority, std::string_view tenant);
std::string weight_request(std::string_view weight, std::string_view tenant);
// `kind` is memory or cores; `value` as people write it, none or default.
std::string limit_request(std::string_view kind, std::string_view value, std::string_view tenant);

// The result in an answer. What the daemon refused is kCtlRefused, with its own words.
Outcome<nlohmann::json> result_of(std::string_view answer);

// Whether a change was made, and will outlive the daemon. One that is in force and could not be
// saved is kCtlFailed.
Outcome<void> check_change(std::string_view answer);

// The result again as text, indented, as people and jq read it.
Outcome<std::string> result_text(std::string_view answer);

Outcome<NodeStatus> status_of(std::string_view answer);

// For answers whose shape is not what this version knows.
EarlyExit not_understood(std::string_view what);

}  // namespace nvs::cli
