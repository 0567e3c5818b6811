// SPDX-License-Identifier: Apache-2.0
#include "daemon/state_file.h"

#include <array>
#include <cstdio>
#include <utility>

#include <errno.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/unique_fd.h"
#include "daemon/saved_pods.h"
#include "daemon/state_json.h"
#include "daemon/status_words.h"
#include "daemon/status_writer.h"

namespace nvs::daemon {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

Result<std::string> read_state_file(const std::string& path) {
  // Whatever stands there instead of a file must not make the daemon wait.
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "the state file cannot be opened"));
  std::string text;
  std::array<char, 4096> buffer;  // NOLINT(*-member-init): read() fills it
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(Error::from_errno(errno, "the state file cannot be read"));
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kStateFileBytesMax) return tl::unexpected(broken("it is too long"));
  }
}

Result<void> write_file(const std::string& path, std::string_view text) {
  const UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "the state file cannot be made"));
  while (!text.empty()) {
    const ssize_t put = ::write(fd.get(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      return tl::unexpected(Error::from_errno(errno, "the state file cannot be written"));
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<core::GpuPolicy> policy_of(const json& saved) {
  const json& mode = member(saved, "mode");
  const json& window = member(saved, "window_ms");
  const json& turn = member(saved, "turn_s");
  if (!mode.is_string() || !window.is_number() || !(turn.is_null() || turn.is_number()))
    return tl::unexpected(broken("a GPU has no mode, window_ms or turn_s"));
  const auto parsed_mode = parse_mode(mode.get_ref<const std::string&>());
  const auto parsed_window = window_of_ms(window.get<double>());
  if (!parsed_mode || !parsed_window)
    return tl::unexpected(broken("a GPU's mode is not known, or its window_ms is out of range"));
  core::GpuPolicy policy{.mode = *parsed_mode, .window = *parsed_window, .turn = std::nullopt};
  if (turn.is_number()) {
    policy.turn = turn_of_s(turn.get<double>());
    if (!policy.turn) return tl::unexpected(broken("a GPU's turn_s is out of range"));
  }
  return policy;
}

Result<TenantSettings> settings_of(const json& saved) {
  TenantSettings settings;
  const json& priority = member(saved, "priority");
  const json& weight = member(saved, "weight");
  const json& paused = member(saved, "paused");
  if (!priority.is_null()) {
    if (priority.is_string())
      settings.priority = parse_priority(priority.get_ref<const std::string&>());
    if (!settings.priority) return tl::unexpected(broken("a tenant's priority is not known"));
  }
  if (!weight.is_null()) {
    if (!weight.is_number_unsigned() || weight.get<std::uint64_t>() < kWeightMin ||
        weight.get<std::uint64_t>() > kWeightMax)
      return tl::unexpected(broken("a tenant's weight is out of range"));
    settings.weight = weight.get<std::uint32_t>();
  }
  if (!paused.is_null()) {
    if (!paused.is_boolean())
      return tl::unexpected(broken("a tenant's paused is neither true nor false"));
    settings.paused = paused.get<bool>();
  }
  settings.memory = NVS_TRY(limit_of(member(saved, "memory"), parse_memory_word));
  settings.cores = NVS_TRY(limit_of(member(saved, "cores"), parse_cores_word));
  return settings;
}

Result<SavedState> parse(const std::string& text, std::string& remark) {
  const json saved = json::parse(text, nullptr, false);
  if (!saved.is_object()) return tl::unexpected(broken("it is not a JSON object"));
  if (member(saved, "version") != kVersion)
    return tl::unexpected(broken("it is not of a version that this daemon knows"));
  const json& gpus = member(saved, "gpus");
  const json& tenants = member(saved, "tenants");
  if (!gpus.is_object() || !tenants.is_object())
    return tl::unexpected(broken("it has no gpus or tenants"));
  if (tenants.size() > kSavedTenantsMax) return tl::unexpected(broken("it has too many tenants"));

  SavedState state;
  for (const auto& [uuid, policy] : gpus.items()) state.gpus[uuid] = NVS_TRY(policy_of(policy));
  for (const auto& [key, settings] : tenants.items())
    state.tenants[key] = NVS_TRY(settings_of(settings));
  state.pods = read_pods(member(saved, "pods"), remark);
  state.slots = read_slots(member(saved, "slots"), remark);
  return state;
}

std::string text_of(const SavedState& state) {
  JsonWriter out;
  out.begin_object().key("version").number(kVersion).key("gpus").begin_object();
  for (const auto& [uuid, policy] : state.gpus) {
    out.key(uuid).begin_object();
    out.key("mode").text(mode_word(policy.mode));
    out.key("window_ms").number(static_cast<double>(policy.window.ns()) / 1e6);
    if (policy.turn) out.key("turn_s").seconds(*policy.turn);
    out.end_object();
  }
  out.end_object().key("tenants").begin_object();
  for (const auto& [key, settings] : state.tenants) {
    if (settings.is_default()) continue;
    out.key(key).begin_object();
    if (settings.priority) out.key("priority").text(priority_word(*settings.priority));
    if (settings.weight) out.key("weight").number(*settings.weight);
    if (settings.paused) out.key("paused").boolean(true);
    write_limit_words(out, settings.memory, settings.cores);
    out.end_object();
  }
  out.end_object();
  write_pods(out, state.pods);
  write_slots(out, state.slots);
  return out.end_object().take() + "\n";
}

}  // namespace

std::string state_path(const std::string& folder) { return folder + "/state.json"; }

Result<SavedState> load_state(const std::string& folder, std::string& remark) {
  const std::string path = state_path(folder);
  const Result<std::string> text = read_state_file(path);
  if (!text && text.error().sys == ENOENT) return SavedState{};
  if (!text && text.error().code == Errc::kSystem) return tl::unexpected(text.error());
  Result<SavedState> state = text ? parse(*text, remark) : tl::unexpected(text.error());
  if (state) return state;
  const bool is_aside = std::rename(path.c_str(), (path + ".bad").c_str()) == 0;
  remark = path + " is broken: " + state.error().what +
           (is_aside ? "; it is kept as state.json.bad" : "; it cannot be renamed") +
           ", and all settings are back at their defaults";
  return SavedState{};
}

Result<void> save_state(const std::string& folder, const SavedState& state) {
  if (state.tenants.size() > kSavedTenantsMax)
    return tl::unexpected(Error{Errc::kLimit, 0, "the state file is full of tenants"});
  if (state.pods.size() > kSavedPodsMax)
    return tl::unexpected(Error{Errc::kLimit, 0, "the state file is full of pods"});
  const std::string path = state_path(folder);
  const std::string fresh = path + ".new";
  const std::string text = text_of(state);
  if (text.size() > kStateFileBytesMax)
    return tl::unexpected(Error{Errc::kLimit, 0, "the state file would be too long"});
  // It is not forced to the disk: the schedule would wait for that, and what a power cut breaks is
  // set aside.
  Result<void> written = write_file(fresh, text);
  if (written && std::rename(fresh.c_str(), path.c_str()) != 0)
    written = tl::unexpected(Error::from_errno(errno, "the state file cannot be replaced"));
  if (!written) ::unlink(fresh.c_str());
  return written;
}

}  // namespace nvs::daemon
