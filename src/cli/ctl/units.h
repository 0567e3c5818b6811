// SPDX-License-Identifier: Apache-2.0
// Times and sizes as people write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nvs::cli {

// "20ms", "0.5s", "1500us", "2m", "1h" in seconds. A number without its unit is nothing: nobody
// knows which one was meant.
std::optional<double> parse_seconds(std::string_view text);

// About three digits: "0", "350us", "4.2ms", "12.5s", "3m08s", "2h13m", "5d02h".
std::string seconds_text(double seconds);

// "0", "512KiB", "1.5GiB", "139GiB".
std::string bytes_text(std::uint64_t bytes);

// "0%", "0.4%", "52%"; of a share in 0 to 1.
std::string share_text(double share);

}  // namespace nvs::cli
