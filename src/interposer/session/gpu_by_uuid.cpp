// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/gpu_by_uuid.h"

#include "interposer/session/client.h"
#include "wire/run_number.h"

namespace nvs::interposer::session {
namespace {

constexpr std::size_t kUuidBytes = 16;

bool is_same(const std::uint8_t (&a)[kUuidBytes], const std::uint8_t (&b)[kUuidBytes]) {
  return __builtin_memcmp(a, b, kUuidBytes) == 0;
}

}  // namespace

bool read_uuid(const char* text, std::uint8_t (&uuid)[kUuidBytes]) {
  while (*text != '\0' && *text != '-') ++text;  // GPU or MIG
  std::size_t digits = 0;
  for (; *text != '\0'; ++text) {
    if (*text == '-') continue;
    const int value = wire::hex_value(*text);
    if (value < 0 || digits == 2 * kUuidBytes) return false;
    const auto half = static_cast<std::uint8_t>(value);
    std::uint8_t& byte = uuid[digits / 2];
    byte = digits % 2 == 0 ? static_cast<std::uint8_t>(half << 4U)
                           : static_cast<std::uint8_t>(byte | half);
    ++digits;
  }
  return digits == 2 * kUuidBytes;
}

int gpu_by_uuid(const char* text) {
  std::uint8_t uuid[kUuidBytes] = {};
  if (!read_uuid(text, uuid)) return -1;
  const os::FutexGuard guard(lock);
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (gpus[gpu].phase != Phase::unused && is_same(gpus[gpu].uuid, uuid)) return gpu;
  }
  return -1;
}

}  // namespace nvs::interposer::session
