// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/config/gpu_identity.h"

#include <cstdint>
#include <cstdio>

namespace nvs::sim {
namespace {

// FNV-1a, and at the end a mix that spreads the last characters over all bits.
std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t value = 0xcbf29ce484222325 ^ seed;
  for (const char letter : text) {
    value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

Uuid gpu_uuid(std::string_view preset, unsigned index) {
  const std::string name = "nvshare-sim/" + std::string(preset) + "/" + std::to_string(index);
  Uuid uuid{};
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint64_t bits = hash(name, half + 1);
    for (unsigned i = 0; i < 8; ++i) {
      uuid[half * 8 + i] = static_cast<unsigned char>(bits >> (56 - 8 * i));
    }
  }
  return uuid;
}

std::string uuid_text(const Uuid& uuid) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "GPU-";
  for (unsigned i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] >> 4];
    text += kDigits[uuid[i] & 15];
  }
  return text;
}

// Each card behind a bus of its own, as behind the root ports of a server.
PciAddress gpu_pci(unsigned index) { return {.domain = 0, .bus = 0x10 + index, .device = 0}; }

std::string pci_text(const PciAddress& address) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04X:%02X:%02X.0", address.domain, address.bus,
                address.device);
  return text.data();
}

}  // namespace nvs::sim
