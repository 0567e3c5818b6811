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
#include "daemon/status_words.h"
#include "daemon/status_writer.h"

namespace nvs::daemon {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

Error broken(const char* what) { return {Errc::kInvalidInput, 0, what}; }

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

// The member, or null where there is none.
const json& member(const json& object, const char* name) {
  static const json kNull;
  const auto found = object.find(name);
  return found != object.end() ? *found : kNull;
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

// A member that need not be there: a text, or a number that is one as well.
template <class Word>
Result<Word> limit_of(const json& saved, std::optional<Word> (*parse)(std::string_view)) {
  if (saved.is_null()) return Word{};
  std::optional<Word> word;
  if (saved.is_string()) word = parse(saved.get_ref<const std::string&>());
  if (saved.is_number_unsigned()) word = parse(std::to_string(saved.get<std::uint64_t>()));
  if (!word) return tl::unexpected(broken("a limit is not understood"));
  return *word;
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

std::string text_or_empty(const json& saved) {
  return saved.is_string() ? saved.get<std::string>() : std::string();
}

Result<SavedPod> pod_of(const std::string& uid, const json& saved) {
  SavedPod pod;
  pod.name = {text_or_empty(member(saved, "namespace")), text_or_empty(member(saved, "pod"))};
  pod.memory = NVS_TRY(limit_of(member(saved, "memory"), parse_memory_word));
  pod.cores = NVS_TRY(limit_of(member(saved, "cores"), parse_cores_word));
  const json& static_uid = member(saved, "static_uid");
  pod.static_uid = text_or_empty(static_uid);
  if (!can_be_saved(uid, pod) || static_uid.is_null() != pod.static_uid.empty())
    return tl::unexpected(broken("a name is missing, or too long"));
  return pod;
}

// One that is not understood is no reason to lose the others, or what an administrator has set: the
// API server will tell of it again.
SavedPods pods_of(const json& saved, std::string& remark) {
  SavedPods pods;
  std::size_t bad = 0;
  const char* reason = "";
  for (const auto& [uid, described] : saved.items()) {
    Result<SavedPod> pod = pod_of(uid, described);
    if (pod) {
      pods.emplace(uid, std::move(*pod));
    } else {
      ++bad;
      reason = pod.error().what;
    }
  }
  if (bad > 0) {
    remark = "state.json: pods that are not understood are left out: " + std::to_string(bad) +
             ", the last because " + reason;
  }
  return pods;
}

Result<SavedState> parse(const std::string& text, std::string& remark) {
  const json saved = json::parse(text, nullptr, false);
  if (!saved.is_object()) return tl::unexpected(broken("it is not a JSON object"));
  if (member(saved, "version") != kVersion)
    return tl::unexpected(broken("it is not of a version that this daemon knows"));
  const json& gpus = member(saved, "gpus");
  const json& tenants = member(saved, "tenants");
  const json& pods = member(saved, "pods");  // not in files of earlier daemons
  if (!gpus.is_object() || !tenants.is_object())
    return tl::unexpected(broken("it has no gpus or tenants"));
  if (!pods.is_object() && !pods.is_null()) return tl::unexpected(broken("its pods are no object"));
  if (tenants.size() > kSavedTenantsMax || pods.size() > kSavedPodsMax)
    return tl::unexpected(broken("it has too many tenants or pods"));

  SavedState state;
  for (const auto& [uuid, policy] : gpus.items()) state.gpus[uuid] = NVS_TRY(policy_of(policy));
  for (const auto& [key, settings] : tenants.items())
    state.tenants[key] = NVS_TRY(settings_of(settings));
  state.pods = pods_of(pods, remark);
  return state;
}

void write_limit_words(JsonWriter& out, const MemoryWord& memory, const CoresWord& cores) {
  if (!memory.is_unset()) out.key("memory").text(word_text(memory));
  if (cores.kind == CoresWord::Kind::none) out.key("cores").text("none");
  if (cores.kind == CoresWord::Kind::set) out.key("cores").number(cores.value);
}

void write_pods(JsonWriter& out, const SavedPods& pods) {
  out.key("pods").begin_object();
  for (const auto& [uid, pod] : pods) {
    out.key(uid).begin_object();
    out.key("namespace").text(pod.name.space).key("pod").text(pod.name.name);
    write_limit_words(out, pod.memory, pod.cores);
    if (!pod.static_uid.empty()) out.key("static_uid").text(pod.static_uid);
    out.end_object();
  }
  out.end_object();
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
  if (!state.pods.empty()) write_pods(out, state.pods);
  return out.end_object().take() + "\n";
}

}  // namespace

Result<SavedState> load_state(const std::string& folder, std::string& remark) {
  const std::string path = folder + "/state.json";
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
  const std::string path = folder + "/state.json";
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
