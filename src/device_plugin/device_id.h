// SPDX-License-Identifier: Apache-2.0
// Names of virtual devices. A slot is "<uuid>::<n>", the form that NVIDIA's plugin uses and that
// dcgm-exporter reads; units of memory and of compute are "<uuid>::m<n>" and "<uuid>::c<n>", since
// kubelets up to 1.36 look ids up without their resource, and so no two may be the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nvs::plugin {

enum class DeviceKind : std::uint8_t { slot, memory, core };

struct DeviceId {
  std::string uuid;
  DeviceKind kind = DeviceKind::slot;
  unsigned number = 0;
  bool operator==(const DeviceId&) const = default;
};

std::string text_of(const DeviceId& id);
// Nothing if the text is not of that form; it may name a GPU that is not there.
std::optional<DeviceId> parse_device_id(std::string_view text);

// As a name in CDI, which knows no colons.
std::string cdi_name(std::string_view id);

}  // namespace nvs::plugin
