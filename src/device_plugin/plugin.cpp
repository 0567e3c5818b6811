// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/plugin.h"

#include <csignal>
#include <random>
#include <utility>

#include <unistd.h>

#include "base/log.h"
#include "base/result.h"
#include "device_plugin/kubelet_client.h"
#include "device_plugin/kubelet_socket.h"
#include "device_plugin/offered_names.h"
#include "device_plugin/root_lock.h"
#include "os/clock.h"
#include "wire/messages.h"

namespace nvs::plugin {
namespace {

constexpr Duration kFirstListPatience = Duration::from_s(2);
constexpr Duration kListPatience = Duration::from_s(10);
constexpr Duration kDaemonPatience = Duration::from_s(2);
// How often a changed file or label is noticed without a signal, and GPUs are looked for again.
constexpr Duration kLookAgain = Duration::from_s(10);
// A plugin that this one replaces may still have allocated, and a kubelet that has just come may
// list little; by then all is in the list.
constexpr Duration kSweepAfter = Duration::from_s(600);
constexpr Duration kHurry = Duration::from_ms(200);
constexpr const char* kKubeletSocketName = "kubelet.sock";

void log_lines(Level level, const std::string& lines) {
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    log(level, lines.substr(at, end - at));
    at = end + 1;
  }
}

std::string daemon_socket(const PluginOptions& options) {
  return options.daemon_folder + "/" + wire::kPluginSocket;
}

std::set<std::string> resources_of(const Inventory& inventory) {
  std::set<std::string> names;
  for (const OfferedResource& resource : inventory.resources) {
    if (!resource.devices.empty()) names.insert(resource.name);
  }
  return names;
}

}  // namespace

Plugin::Plugin(PluginOptions options, LoadedConfig config, os::EventLoop loop, os::SignalFd signals,
               FolderWatch folder)
    : options_(std::move(options)),
      config_(std::move(config)),
      loop_(std::move(loop)),
      signals_(std::move(signals)),
      folder_(std::move(folder)),
      daemon_watch_(loop_, daemon_socket(options_)),
      health_(options_.health),
      calm_since_(os::monotonic_now()),
      next_look_(calm_since_ + kLookAgain),
      next_hurry_(calm_since_),
      daemon_(daemon_socket(options_), kDaemonPatience),
      registrar_(options_.kubelet_folder, SocketNames(::getpid(), std::random_device()()), answers_,
                 [this](RegistrationNews news) { mailbox_.post(std::move(news)); }) {}

Parsed<std::unique_ptr<Plugin>> Plugin::create(PluginOptions options, LoadedConfig config) {
  // Before any thread is there, so that none takes them.
  auto signals = os::SignalFd::create({SIGTERM, SIGINT, SIGHUP});
  if (!signals) return tl::unexpected(signals.error().message());
  auto loop = os::EventLoop::create();
  if (!loop) return tl::unexpected(loop.error().message());
  auto folder = FolderWatch::create(options.kubelet_folder);
  if (!folder) {
    return tl::unexpected(options.kubelet_folder + ": " + folder.error().message() +
                          "; is this a node with a kubelet?");
  }
  std::unique_ptr<Plugin> plugin(new Plugin(std::move(options), std::move(config), *std::move(loop),
                                            *std::move(signals), *std::move(folder)));
  NVS_TRY(plugin->start());
  return plugin;
}

Parsed<void> Plugin::start() {
  for (const std::string& warning : config_.config.warnings) log(Level::warning, warning);
  auto held = hold_root(options_.root_mount);
  if (!held) return tl::unexpected(options_.root_mount + ": " + held.error().message());
  root_lock_ = *std::move(held);
  library_ = NVS_TRY(install(options_));
  sweep_sockets(options_.kubelet_folder);
  NVS_TRY(watch_descriptors());
  // So that the first pod is already spread by what runs. Without an answer it is by the kubelet's
  // word.
  const Instant asked_at = os::monotonic_now();
  pods_socket_ = file_at(options_.pod_resources);
  auto pods = list_pods(options_.pod_resources, kFirstListPatience, stopping_.get_token());
  // Looked at after the answer: whoever gave it did not come later.
  if (!has_been_there(options_.pod_resources)) answers_.kubelet_came(asked_at);
  if (pods) answers_.listed(asked_at, *std::move(pods));
  if (options_.requires_scheduler) {
    // Before anything is offered, so that a restart of ours makes no device unhealthy for a moment.
    const auto heard = daemon_.talk({}, 0);
    take_talk({.began_at = asked_at, .error = heard ? "" : heard.error()});
  }
  const auto made = make_offer();
  if (!made && config_.config.fails_without_gpus) return made;
  if (!made) log(Level::warning, "nothing is offered", {{"error", made.error()}});
  if (!options_.probe_address.empty()) {
    probes_ =
        NVS_TRY(ProbeServer::create(options_.probe_address, loop_, [this] { return unready(); }));
    log(Level::info, "probes are answered", {{"port", probes_->port()}});
  }
  daemon_talk_ = std::make_unique<Periodic>(options_.poll, [this] { talk_to_daemon(); });
  pod_list_ = std::make_unique<Periodic>(options_.poll, [this] { ask_who_has_what(); });
  return {};
}

Parsed<void> Plugin::watch_descriptors() {
  const auto add = [this](int fd, auto callback) -> Parsed<void> {
    const auto added = loop_.add(fd, EPOLLIN, callback);
    if (!added) return tl::unexpected(added.error().message());
    return {};
  };
  NVS_TRY(add(mailbox_.fd(), [this](auto) {
    for (const PluginMessage& message : mailbox_.take()) take(message);
  }));
  NVS_TRY(add(folder_.fd(), [this](auto) { take_changes(); }));
  return add(signals_.fd(), [this](auto) {
    while (const auto signal = signals_.take()) {
      if (*signal == SIGHUP) {
        load_again(true);
      } else {
        is_ending_ = true;
      }
    }
  });
}

Parsed<void> Plugin::make_offer() {
  if (nvml_ == nullptr) {
    auto nvml = Nvml::open(nvml_path());
    if (!nvml) {
      return tl::unexpected(std::string(nvml_path()) + ": " + nvml.error() +
                            "; is NVIDIA's driver installed, and its container runtime that of "
                            "this pod (runtimeClassName)?");
    }
    nvml_ = std::make_shared<const Nvml>(*std::move(nvml));
  }
  std::string remarks;
  auto gpus = find_offered_gpus(*nvml_, options_, remarks);
  log_lines(Level::warning, remarks);
  if (!gpus) return tl::unexpected(gpus.error());
  auto inventory = NVS_TRY(make_inventory(*std::move(gpus), config_.config));
  for (const std::string& remark : inventory.remarks) log(Level::warning, remark);
  const std::string files = remark_on_control_files(config_.config, Answers::is_there);
  if (files != std::exchange(files_remark_, files)) log_lines(Level::warning, files);
  auto offer = std::make_shared<Offer>(
      Offer{config_.config, std::move(inventory), host_paths(options_, library_)});
  const std::string folder = make_tenant_folder(options_, *offer);
  if (folder != std::exchange(folder_remark_, folder)) log_lines(Level::warning, folder);
  NVS_TRY(write_cdi_file(options_, *offer, answers_.holders()));
  labels_ = NVS_TRY(write_labels_file(options_, *offer));
  const std::set<std::string> names = resources_of(offer->inventory);
  // Before anybody can have one: an uninstallation must know.
  const auto remembered = remember_offered(options_.root_mount, names);
  if (!remembered) {
    return tl::unexpected(options_.root_mount + "/" + kOfferedNamesFile + ": " +
                          remembered.error().message());
  }
  std::set<std::string> whole;
  for (const OfferedGpu& gpu : offer->inventory.gpus) whole.insert(gpu.parent_uuid);
  for (const OfferedResource& resource : offer->inventory.resources) {
    log(Level::info, "offered",
        {{"resource", resource.name}, {"devices", resource.devices.size()}});
  }
  answers_.set_offer(offer);
  if (whole != gpus_ || gpu_watch_ == nullptr) {
    gpus_ = std::move(whole);
    gpu_watch_.reset();
    if (options_.health.watches) {
      gpu_watch_ =
          std::make_unique<GpuWatch>(nvml_, std::vector<std::string>(gpus_.begin(), gpus_.end()),
                                     [this](GpuNews news) { mailbox_.post(std::move(news)); });
    }
  }
  registrar_.send_devices();
  registrar_.offer(os::monotonic_now(), names);
  return {};
}

void Plugin::load_again(bool is_asked_for) {
  next_look_ = os::monotonic_now() + kLookAgain;
  auto loaded = load_config(options_);
  if (!loaded) {
    // Said once, not every few seconds.
    if (loaded.error() != std::exchange(config_error_, loaded.error()) || is_asked_for) {
      log(Level::error, "the settings are wrong; those from before stay",
          {{"error", loaded.error()}});
    }
    return;
  }
  config_error_.clear();
  if (!is_asked_for && loaded->chosen == config_.chosen && !gpus_.empty()) return;
  const bool is_new = !(loaded->chosen == config_.chosen);
  const LoadedConfig before = std::exchange(config_, *std::move(loaded));
  if (is_new) {
    for (const std::string& warning : config_.config.warnings) log(Level::warning, warning);
  }
  if (is_asked_for || is_new) {
    log(Level::info, "settings read again", {{"file", config_.chosen.file}});
  }
  const auto made = make_offer();
  if (made) return;
  log(Level::error, "the settings cannot be had; those from before stay",
      {{"error", made.error()}});
  config_ = before;
}

void Plugin::take(const PluginMessage& message) {
  if (const auto* news = std::get_if<RegistrationNews>(&message)) {
    registrar_.take(os::monotonic_now(), *news);
    if (news->kind == RegistrationNews::Kind::allocated) next_hurry_ = os::monotonic_now();
  } else if (const auto* gpu = std::get_if<GpuNews>(&message)) {
    take_news(*gpu);
  } else if (const auto* talked = std::get_if<DaemonTalked>(&message)) {
    take_talk(*talked);
  } else {
    take_list(std::get<PodsListed>(message));
  }
}

void Plugin::take_news(const GpuNews& news) {
  const Instant now = os::monotonic_now();
  bool is_changed = false;
  if (news.xid != 0) {
    log(Level::warning, "the driver reports an error",
        {{"gpu", news.gpu.empty() ? "unknown" : news.gpu}, {"xid", news.xid}});
    for (const std::string& patient : patients_of(answers_.offer()->inventory.gpus, news.gpu,
                                                  news.gpu_instance, news.compute_instance)) {
      is_changed = health_.xid(now, patient, news.xid) || is_changed;
    }
  } else if (news.silence.empty()) {
    is_changed = health_.answered(now, news.gpu);
  } else {
    is_changed = health_.did_not_answer(now, news.gpu, news.silence);
  }
  if (is_changed) publish_health();
}

void Plugin::publish_health() {
  std::set<std::string> unhealthy;
  std::set<std::string> all = gpus_;
  const auto offer = answers_.offer();
  for (const OfferedGpu& gpu : offer->inventory.gpus) all.insert(gpu.uuid);
  for (const std::string& gpu : all) {
    const std::string reason = health_.reason(gpu);
    if (reason.empty()) {
      log(Level::info, "healthy", {{"gpu", gpu}});
      continue;
    }
    log(Level::warning, "unhealthy", {{"gpu", gpu}, {"reason", reason}});
    unhealthy.insert(gpu);
  }
  answers_.set_unhealthy(std::move(unhealthy));
  registrar_.send_devices();
}

void Plugin::take_list(const PodsListed& listed) {
  if (listed.error != std::exchange(list_error_, listed.error)) {
    const bool is_good = listed.error.empty();
    log(is_good ? Level::info : Level::warning,
        is_good ? "the kubelet says who has what" : "the kubelet does not say who has what",
        {{"error", listed.error}});
  }
  if (listed.is_new || !cdi_error_.empty()) {
    // After a reboot the file is gone, and pods of earlier settings are listed late.
    const auto written = write_cdi_file(options_, *answers_.offer(), answers_.holders());
    const std::string error = written ? "" : written.error();
    // Tried again at every list, and said once.
    if (error != std::exchange(cdi_error_, error)) {
      log(written ? Level::info : Level::error,
          written ? "the CDI file is written again" : "the CDI file is old", {{"error", error}});
    }
  }
  const Instant now = os::monotonic_now();
  if (is_swept_ || now < calm_since_ + kSweepAfter || !answers_.all_slots_are_ours(now)) return;
  is_swept_ = true;
  registrar_.later([root = options_.root_mount, library = library_] {
    for (const std::string& name : remove_other_versions(root, library)) {
      log(Level::info, "removed a version of the library that no pod has", {{"version", name}});
    }
  });
}

void Plugin::take_changes() {
  const Instant now = os::monotonic_now();
  for (const FolderChange& change : folder_.take()) {
    const bool is_kubelet = change.name == kKubeletSocketName;
    if (change.kind == FolderChange::Kind::gone) {
      is_folder_gone_ = true;
    } else if (change.kind == FolderChange::Kind::left) {
      registrar_.socket_removed(now, change.name);
    } else if (is_kubelet || change.kind == FolderChange::Kind::lost) {
      log(Level::info, "the kubelet came");
      registrar_.kubelet_came(now);
      answers_.kubelet_came(now);
      calm_since_ = now;
      if (pod_list_) pod_list_->hurry();
    }
  }
}

// In the thread that lists. The loop may hear later than this that there is another kubelet.
void Plugin::ask_who_has_what() {
  const Instant asked_at = os::monotonic_now();
  const PlacedFile socket = file_at(options_.pod_resources);
  const PlacedFile before = std::exchange(pods_socket_, socket);
  if (socket != before && before != PlacedFile{}) answers_.kubelet_came(asked_at);
  auto pods = list_pods(options_.pod_resources, kListPatience, stopping_.get_token());
  const std::string error = pods ? "" : pods.error();
  const bool is_new = pods && answers_.listed(asked_at, *std::move(pods));
  if (is_new) daemon_talk_->hurry();
  mailbox_.post(PodsListed{.error = error, .is_new = is_new});
}

void Plugin::tick() {
  const Instant now = os::monotonic_now();
  registrar_.tick(now);
  if (health_.tick(now)) publish_health();
  withhold_or_give(now);
  if (now >= next_look_) load_again(false);
  is_folder_gone_ = is_folder_gone_ || !folder_.is_there();
  // The kubelet lists a pod some time after it was given its devices, and the daemon wants to know.
  if (pod_list_ && now >= next_hurry_ && answers_.awaits_list(now)) {
    next_hurry_ = now + kHurry;
    pod_list_->hurry();
  }
  if (daemon_watch_.wants_talk(now)) daemon_talk_->hurry();
}

Instant Plugin::next_deadline() const {
  Instant next = next_look_;
  for (const auto& deadline : {registrar_.next_deadline(), health_.next_deadline(),
                               daemon_watch_.next_deadline(), daemon_deadline()}) {
    if (deadline) next = std::min(next, *deadline);
  }
  if (answers_.awaits_list(os::monotonic_now())) next = std::min(next, next_hurry_);
  return next;
}

Parsed<void> Plugin::run() {
  while (!is_ending_ && !is_folder_gone_) {
    const auto done = loop_.run_round(next_deadline());
    if (!done) return tl::unexpected(done.error().message());
    tick();
  }
  log(Level::info, "stopping");
  remove_labels_file(options_, labels_);
  stopping_.request_stop();
  registrar_.stop();
  if (is_ending_) return {};
  // A container's mount stays with the folder that was there when it was made.
  return tl::unexpected(
      options_.kubelet_folder +
      ": this folder was removed or replaced; to be started again, with the new one");
}

}  // namespace nvs::plugin
