// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/device_id.h"

#include <charconv>

namespace nvs::plugin {
namespace {

constexpr std::string_view kSeparator = "::";

}  // namespace

std::string text_of(const DeviceId& id) {
  std::string text = id.uuid;
  text += kSeparator;
  if (id.kind == DeviceKind::memory) text += 'm';
  if (id.kind == DeviceKind::core) text += 'c';
  return text + std::to_string(id.number);
}

std::optional<DeviceId> parse_device_id(std::string_view text) {
  const std::size_t at = text.find(kSeparator);
  if (at == 0 || at == std::string_view::npos) return std::nullopt;
  DeviceId id{.uuid = std::string(text.substr(0, at)), .kind = DeviceKind::slot, .number = 0};
  text.remove_prefix(at + kSeparator.size());
  if (text.starts_with('m') || text.starts_with('c')) {
    id.kind = text.front() == 'm' ? DeviceKind::memory : DeviceKind::core;
    text.remove_prefix(1);
  }
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, id.number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return id;
}

std::string cdi_name(std::string_view id) {
  std::string name(id);
  const std::size_t at = name.find(kSeparator);
  if (at != std::string::npos) name.replace(at, kSeparator.size(), "_");
  return name;
}

}  // namespace nvs::plugin
