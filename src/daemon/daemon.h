// SPDX-License-Identifier: Apache-2.0
// nvshare-scheduler once its command line is read: the loop around the core. Wait for a packet or
// the core's deadline, read the clock, step, send.
#pragma once

#include <memory>
#include <optional>

#include <tl/expected.hpp>

#include "base/instant.h"
#include "daemon/control.h"
#include "daemon/control_socket.h"
#include "daemon/folder.h"
#include "daemon/folder_watch.h"
#include "daemon/gpu_search.h"
#include "daemon/host_pool.h"
#include "daemon/http_server.h"
#include "daemon/identity.h"
#include "daemon/memory_watch.h"
#include "daemon/messages.h"
#include "daemon/node.h"
#include "daemon/options.h"
#include "daemon/pod_feed.h"
#include "daemon/sessions.h"
#include "daemon/usage_watch.h"
#include "daemon/visitors.h"
#include "daemon/web.h"
#include "os/event_loop.h"
#include "os/sd_notify.h"
#include "os/signals.h"

namespace nvs::daemon {

// What the environment says about the service manager; null where it is not set.
struct ServiceEnvironment {
  const char* notify_socket = nullptr;
  const char* watchdog_usec = nullptr;
  const char* watchdog_pid = nullptr;
};

class Daemon {
 public:
  // Ready to run: the folder is ours and the sockets listen. The error is a sentence for the user.
  static tl::expected<std::unique_ptr<Daemon>, std::string> create(
      const Options& options, const ServiceEnvironment& environment);

  // Until a signal, or until it is unused. The error is a sentence for the log.
  tl::expected<void, std::string> run();

 private:
  struct Parts {
    os::EventLoop loop;
    os::SignalFd signals;
    Folder folder;
    SavedState saved;
    TenantIds ids;
    Peer self;
    Sessions::Places places;
    std::unique_ptr<HostPool> host;
    UniqueFd metrics;  // listens, if it is wanted
    std::unique_ptr<MemoryWatch> memory_watch;
  };
  Daemon(const Options& options, const ServiceEnvironment& environment, Parts parts,
         std::optional<std::vector<Gpu>> gpus);
  static tl::expected<Parts, std::string> make_parts(const Options& options,
                                                     const std::optional<std::vector<Gpu>>& gpus);
  Result<void> start();
  Result<void> watch_memory();
  void on_readings();
  Result<void> search_gpus();
  void on_found();
  void watch_pods();
  Result<void> serve_metrics();

  tl::expected<void, std::string> run_until_stopped();
  std::optional<Instant> next_deadline() const;
  void on_deadlines();
  std::optional<Instant> silence_deadline() const;
  void note_silence(Instant now);
  void on_signal();
  bool is_used() const { return sessions_.count() > 0 || visitors_.count() > 0; }
  // When the daemon ends because nobody uses it, if it may.
  std::optional<Instant> unused_deadline() const;
  void tell_ready(Instant now);
  void look_at_folder(Instant now);
  void stop_unless_awaited(Instant now);
  void stop_unless_visited(Instant now);
  void stop(const char* why);
  void make_way();

  Options options_;
  os::EventLoop loop_;
  os::SignalFd signals_;
  Folder folder_;
  Peer self_;
  os::ServiceManager manager_;
  std::optional<Duration> watchdog_;  // how often it is told that we are alive
  Instant watchdog_at_;
  std::optional<Instant> ready_at_;  // when it is told that we are ready; once it is: nothing
  Instant start_;
  UsageWatch usage_;
  FolderWatch folder_watch_;
  Node node_;
  std::unique_ptr<HostPool> host_;
  Messages messages_;
  Visitors visitors_;  // nobody is added unless the daemon ends when it is unused
  Sessions sessions_;
  Control control_;
  ControlSocket control_socket_;
  ControlSocket plugin_socket_;
  UniqueFd metrics_listener_;
  Web web_;
  HttpServer http_;
  std::unique_ptr<MemoryWatch> memory_watch_;  // nothing where NVML does not tell
  std::unique_ptr<GpuSearch> gpu_search_;      // nothing where NVML was there, or is by now
  Instant memory_heard_;                       // when it last told something
  std::unique_ptr<PodFeed> pods_;              // nothing where nobody watches
  bool is_awaited_ = false;  // nobody uses it but a run's processes may, and the log says so
  bool is_stopping_ = false;
};

}  // namespace nvs::daemon
