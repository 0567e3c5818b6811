// SPDX-License-Identifier: Apache-2.0
// The program: one event loop that holds all decisions, and threads that only post to it.
#pragma once

#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <variant>

#include "base/unique_fd.h"
#include "device_plugin/daemon_link.h"
#include "device_plugin/daemon_presence.h"
#include "device_plugin/daemon_watch.h"
#include "device_plugin/folder_watch.h"
#include "device_plugin/gpu_watch.h"
#include "device_plugin/mailbox.h"
#include "device_plugin/node_offer.h"
#include "device_plugin/periodic.h"
#include "device_plugin/placed_file.h"
#include "device_plugin/probe_server.h"
#include "device_plugin/registrar.h"
#include "os/signals.h"

namespace nvs::plugin {

// The answer to PodResources' List.
struct PodsListed {
  std::string error;    // why it did not come; empty: it did
  bool is_new = false;  // somebody has other slots than before
};
// The daemon was talked to.
struct DaemonTalked {
  Instant began_at;
  std::string error;  // why it did not answer; empty: it did, and knows who has which slot
};
using PluginMessage = std::variant<RegistrationNews, GpuNews, PodsListed, DaemonTalked>;

class Plugin {
 public:
  // The error is a sentence: why it cannot start.
  static Parsed<std::unique_ptr<Plugin>> create(PluginOptions options, LoadedConfig config);
  // Until a signal ends it, or the kubelet's folder is gone.
  Parsed<void> run();

 private:
  Plugin(PluginOptions options, LoadedConfig config, os::EventLoop loop, os::SignalFd signals,
         FolderWatch folder);

  Parsed<void> start();
  Parsed<void> watch_descriptors();
  // Settings and GPUs as they are now.
  Parsed<void> make_offer();
  void load_again(bool is_asked_for);
  void take(const PluginMessage& message);
  void take_news(const GpuNews& news);
  void take_list(const PodsListed& listed);
  void take_talk(const DaemonTalked& talked);
  void take_changes();
  void publish_health();
  void withhold_or_give(Instant now);
  std::string unready() const;
  void tick();
  void ask_who_has_what();
  void talk_to_daemon();
  std::optional<Instant> daemon_deadline() const;
  Instant next_deadline() const;

  PluginOptions options_;
  LoadedConfig config_;
  os::EventLoop loop_;
  os::SignalFd signals_;
  FolderWatch folder_;
  DaemonWatch daemon_watch_;
  DaemonPresence presence_;
  Mailbox<PluginMessage> mailbox_;
  Answers answers_;
  Health health_;
  UniqueFd root_lock_;  // nobody removes the library meanwhile
  InstalledLibrary library_;
  std::shared_ptr<const Nvml> nvml_;
  std::set<std::string> gpus_;  // whole ones, by UUID
  Instant calm_since_;          // we, or the kubelet, started
  Instant next_look_;           // at the settings
  Instant next_hurry_;          // with the next list, while one is awaited
  PlacedFile labels_;           // as we wrote it last
  PlacedFile pods_socket_;      // of the thread that lists
  DaemonLink daemon_;           // of the thread that talks to it
  std::string config_error_;    // of the last time
  std::string list_error_;      // of the last time
  std::string cdi_error_;       // of the last time
  std::string files_remark_;    // of the last time
  std::string folder_remark_;   // of the last time
  bool is_swept_ = false;       // older versions of the library are gone
  bool is_withheld_ = false;    // nothing is given away for want of a daemon
  bool is_ending_ = false;
  bool is_folder_gone_ = false;
  std::string load_error_;     // of the thread that talks to the daemon
  std::stop_source stopping_;  // ends what the threads wait for
  Registrar registrar_;
  std::unique_ptr<ProbeServer> probes_;
  std::unique_ptr<GpuWatch> gpu_watch_;
  std::unique_ptr<Periodic> daemon_talk_;
  std::unique_ptr<Periodic> pod_list_;  // ends before the one that it hurries
};

}  // namespace nvs::plugin
