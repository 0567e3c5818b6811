// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them: "12G", "4096MiB", "1.5 GB". Options take them and messages print
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nvs::workloads {

// K, M, G and T (with or without iB) are powers of 1024; KB, MB, GB and TB are powers of 1000.
// Nothing for text that is no size, for zero, and for what does not fit into 64 bits.
std::optional<std::uint64_t> parse_size(std::string_view text);

// "12.0 GiB", "768 MiB", "512 B": three digits are enough for a message.
std::string format_size(std::uint64_t bytes);

}  // namespace nvs::workloads
