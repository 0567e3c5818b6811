// SPDX-License-Identifier: Apache-2.0
// Limits as people write them: memory in bytes or as a part of a GPU, compute in percent of one.
// One reading of them for flags, variables, files, annotations and administrators. Exact to the
// byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nvs {

// Longer texts are no limits: they would not fit into a client's Hello.
inline constexpr std::size_t kLimitTextMax = 31;
inline constexpr std::uint64_t kMemoryMost = std::uint64_t{1} << 50U;  // 1 PiB
inline constexpr std::uint32_t kPercentMost = 100;

// So many bytes, or so many percent of the GPU's memory; if both are set, whichever is less.
struct MemoryAmount {
  std::uint64_t bytes = 0;
  std::uint32_t percent = 0;
  bool operator==(const MemoryAmount&) const = default;
};

// "4Gi", "4096MiB", "1.5Ti": powers of 1024. "4G", "4GB", "500k": powers of 1000, as Kubernetes has
// it. "4096", "4096B": bytes. 1 byte to 1 PiB; a part of a byte is left off. Nothing else.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
// The same, or "25%": 1 to 100 percent of the GPU's memory; or both, as text_of writes it.
std::optional<MemoryAmount> parse_memory(std::string_view text);
// "40" or "40%": 1 to 100.
std::optional<std::uint32_t> parse_cores(std::string_view text);

// What messages about wrong ones tell people to write.
inline constexpr const char* kMemoryForms = "4Gi, 4096Mi, 4G, 512MiB, bytes, or 25%";
inline constexpr const char* kCoresForms = "a number from 1 to 100";

// Both at once: neither is exceeded.
MemoryAmount tightest(const MemoryAmount& a, const MemoryAmount& b);

// On a GPU of that size; nothing for a part of one whose size is not known (0).
std::optional<std::uint64_t> bytes_of(const MemoryAmount& amount, std::uint64_t gpu_bytes);

// As short as it can be written without a loss: "4Gi", "1536Mi", "4G", "4097", "25%".
std::string text_of(const MemoryAmount& amount);

}  // namespace nvs
