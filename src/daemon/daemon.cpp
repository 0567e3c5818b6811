// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.h"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/log.h"
#include "daemon/file_budget.h"
#include "daemon/host_setup.h"
#include "daemon/limits.h"
#include "daemon/log_file.h"
#include "daemon/log_lines.h"
#include "daemon/run_processes.h"
#include "daemon/saved_tenants.h"
#include "nvml/gpus.h"
#include "os/clock.h"
#include "os/process.h"

namespace nvs::daemon {
namespace {

using Problem = tl::unexpected<std::string>;

constexpr const char* kFolderLost = "the folder is gone, or another daemon has it";

template <class T>
tl::expected<T, std::string> or_problem(Result<T> result, const char* what) {
  if (result) return std::move(*result);
  return Problem(std::string(what) + ": " + result.error().message());
}

tl::expected<UniqueFd, std::string> listen_for_metrics(const Options& options) {
  if (!options.metrics) return UniqueFd{};
  const os::TcpAddress& address = *options.metrics;
  Result<UniqueFd> listener = os::listen_tcp(address);
  if (listener) return std::move(*listener);
  const std::string where = address.host.empty() ? "" : " of " + address.host;
  return Problem("cannot serve metrics at port " + std::to_string(address.port) + where + ": " +
                 listener.error().message() + ": choose another with --metrics");
}

tl::expected<FileBudget, std::string> divide_files_of_system(std::size_t files_per_client,
                                                             const HostPlan& plan) {
  const Result<std::uint64_t> files = os::raise_open_files();
  if (!files) {
    log(Level::warning, "the limit of open files is unknown", {{"error", files.error().message()}});
    return FileBudget{.host_segments = plan.segments};
  }
  const FileBudget budget = divide_files(*files, files_per_client, plan.segments);
  if (budget.clients < kClientsLeast) {
    return Problem("the hard limit of open files is " + std::to_string(*files) +
                   ", and leaves room for " + std::to_string(budget.clients) +
                   " programs: raise it to 1024 or more (ulimit -Hn in a shell, LimitNOFILE= in a "
                   "unit)");
  }
  if (budget.host_segments < plan.segments) {
    log(Level::warning, "the hard limit of open files allows less host memory to be lent",
        {{"files", *files},
         {"mib", (budget.host_segments * plan.segment_bytes) >> 20U},
         {"usual_mib", plan.cap_bytes >> 20U}});
  }
  if (budget.clients < kClientsMax) {
    log(Level::warning,
        "the hard limit of open files allows fewer clients than usual: those beyond do not share",
        {{"files", *files}, {"clients", budget.clients}, {"usual", kClientsMax}});
  }
  return budget;
}

// It may be a mistake, or a GPU that a client will name.
void warn_of_unknown(const GpuMemory& memory, const GpuTable& gpus) {
  for (const auto& [uuid, bytes] : memory.by_uuid) {
    if (gpus.find(uuid)) continue;
    log(Level::warning, "--gpu-memory names a GPU that was not found",
        {{"gpu", uuid_text("GPU", uuid)}});
  }
}

void be_urgent() {
  const Result<void> urgent = os::set_niceness(kNiceness);
  if (urgent) return;
  const int niceness = os::niceness();
  log(niceness > 0 ? Level::warning : Level::debug,
      niceness > 0 ? "less urgent than ordinary programs: GPUs may be idle while it waits for them"
                   : "not more urgent than others",
      {{"niceness", niceness}, {"error", urgent.error().message()}});
}

// Where the driver hangs this does not return. So it comes before the folder is taken: another
// daemon can have that, and programs find none here and run on by themselves. And before signals
// are blocked, so that they end it.
std::optional<std::vector<Gpu>> look_for_gpus() {
  std::string remarks;
  Result<std::vector<Gpu>> gpus = find_gpus(remarks);
  log_lines(Level::warning, "looking for GPUs", remarks);
  if (gpus) return std::move(*gpus);
  log(Level::warning, "GPUs are learnt from the programs that use them",
      {{"reason", gpus.error().message()}});
  return std::nullopt;
}

std::unique_ptr<MemoryWatch> watch_gpus(const std::optional<std::vector<Gpu>>& gpus) {
  if (!gpus) return nullptr;
  std::string remarks;
  auto watch = MemoryWatch::start(*gpus, kMemoryPoll, remarks);
  log_lines(Level::warning, "watching the memory of GPUs", remarks);
  return watch;
}

}  // namespace

tl::expected<Daemon::Parts, std::string> Daemon::make_parts(
    const Options& options, const std::optional<std::vector<Gpu>>& gpus) {
  auto loop = or_problem(os::EventLoop::create(), "cannot make the event loop");
  if (!loop) return Problem(loop.error());
  auto signals = or_problem(os::SignalFd::create({SIGTERM, SIGINT}), "cannot wait for signals");
  if (!signals) return Problem(signals.error());
  auto self = or_problem(identify_self(), "cannot find out who this process is");
  if (!self) return Problem(self.error());
  auto memory_watch = watch_gpus(gpus);
  const std::size_t for_visitor = options.exit_when_unused ? kFdsPerVisitor : 0;
  const HostPlan plan = plan_for_this_machine(options.host_memory_bytes);
  const auto files = divide_files_of_system(kFdsPerClient + for_visitor, plan);
  if (!files) return Problem(files.error());
  auto folder = Folder::open(options.folder, ::geteuid());
  if (!folder) return Problem(folder.error());
  std::string remark;
  Result<SavedState> saved = load_state(options.folder, remark);
  if (!saved) {
    return Problem("cannot read " + state_path(options.folder) + ": " + saved.error().message());
  }
  log_lines(Level::warning, "saved settings", remark);
  forget_ended_processes(saved->tenants);
  remark.clear();
  TenantIds ids = TenantIds::load(options.folder, remark);
  log_lines(Level::warning, "saved numbers of tenants", remark);
  auto metrics = listen_for_metrics(options);
  if (!metrics) return Problem(metrics.error());
  // The threads that it starts take no signals: those are blocked by now.
  return Parts{std::move(*loop),
               std::move(*signals),
               std::move(*folder),
               std::move(*saved),
               std::move(ids),
               std::move(*self),
               Sessions::Places{files->clients, files->shared_files},
               make_host_pool(with_segments_at_most(plan, files->host_segments)),
               std::move(*metrics),
               std::move(memory_watch)};
}

tl::expected<std::unique_ptr<Daemon>, std::string> Daemon::create(
    const Options& options, const ServiceEnvironment& environment) {
  auto gpus = look_for_gpus();
  auto parts = make_parts(options, gpus);
  if (!parts) return Problem(parts.error());
  std::unique_ptr<Daemon> daemon(
      new Daemon(options, environment, std::move(*parts), std::move(gpus)));
  const Result<void> started = daemon->start();
  if (!started) return Problem("cannot start: " + started.error().message());
  return daemon;
}

Daemon::Daemon(const Options& options, const ServiceEnvironment& environment, Parts parts,
               std::optional<std::vector<Gpu>> gpus)
    : options_(options),
      loop_(std::move(parts.loop)),
      signals_(std::move(parts.signals)),
      folder_(std::move(parts.folder)),
      self_(std::move(parts.self)),
      manager_(environment.notify_socket),
      watchdog_(
          os::watchdog_period(environment.watchdog_usec, environment.watchdog_pid, ::getpid())),
      start_(os::monotonic_now()),
      usage_(start_),
      folder_watch_(start_),
      node_(options, std::move(parts.saved), start_, parts.host->view(), std::move(parts.ids)),
      host_(std::move(parts.host)),
      messages_(node_, *host_,
                gpus ? Messages::Teachers::administrators : Messages::Teachers::anybody, self_),
      visitors_(loop_, std::min(parts.places.clients, kVisitorsMax)),
      sessions_(loop_, node_, *host_, messages_, parts.places,
                options.exit_when_unused ? &visitors_ : nullptr),
      control_(loop_, node_, *host_, sessions_),
      control_socket_(loop_, control_, self_, Asker::administrator),
      plugin_socket_(loop_, control_, self_, Asker::plugin),
      metrics_listener_(std::move(parts.metrics)),
      web_([this] { return loop_.now(); },
           [this] { return node_.metrics(loop_.now(), host_->view()); }),
      http_(loop_, [this](std::string_view path) { return web_.page(path); }),
      memory_watch_(std::move(parts.memory_watch)),
      memory_heard_(start_) {
  if (watchdog_) watchdog_ = *watchdog_ / 2;  // one of two may be late
  watchdog_at_ = start_;
  if (!gpus) {
    gpu_search_ = GpuSearch::start(kGpuSearchFirst, kGpuSearchLongest);
    return;
  }
  for (Gpu& gpu : *gpus) {
    node_.add_gpu(start_, std::move(gpu), Node::Origin::found, sessions_.effects());
  }
  warn_of_unknown(options_.gpu_memory, node_.gpus());
}

// Without it everything works but annotations: that is said, and is no reason to stop.
void Daemon::watch_pods() {
  if (!options_.kube_remark.empty()) {
    log(Level::warning, "annotations of pods are not watched", {{"reason", options_.kube_remark}});
  }
  if (!options_.kube) return;
  auto feed = PodFeed::start(*options_.kube, loop_, [this](const kube::Update& update) {
    node_.update_pods(loop_.now(), update, sessions_.effects());
    sessions_.settle();
  });
  if (!feed) {
    log(Level::error, "annotations of pods are not watched", {{"error", feed.error().message()}});
    return;
  }
  pods_ = std::move(*feed);
  node_.watch_pods();
  log(Level::info, "annotations of pods are watched",
      {{"server", options_.kube->api_url}, {"node", options_.kube->node}});
}

Result<void> Daemon::serve_metrics() {
  if (!metrics_listener_) return {};
  log(Level::info, "metrics are served", {{"port", os::local_port(metrics_listener_.get())}});
  return http_.listen(std::move(metrics_listener_));
}

Result<void> Daemon::start() {
  NVS_TRY(loop_.add(signals_.fd(), EPOLLIN, [this](std::uint32_t) { on_signal(); }));
  if (host_->fd() >= 0) {
    NVS_TRY(loop_.add(host_->fd(), EPOLLIN, [this](std::uint32_t) {
      host_->on_progress();
      sessions_.settle();
    }));
  }
  NVS_TRY(watch_memory());
  NVS_TRY(search_gpus());
  NVS_TRY(sessions_.listen(folder_.take_tenant_socket()));
  NVS_TRY(control_socket_.listen(folder_.take_admin_socket()));
  NVS_TRY(plugin_socket_.listen(folder_.take_plugin_socket()));
  NVS_TRY(serve_metrics());
  watch_pods();
  be_urgent();
  return {};
}

tl::expected<void, std::string> Daemon::run() {
  log(Level::info, "ready",
      {{"folder", options_.folder},
       {"gpus", node_.gpus().entries().size()},
       {"version", NVS_VERSION},
       {"pid", ::getpid()}});
  tell_ready(loop_.now());
  auto done = run_until_stopped();
  make_way();
  return done;
}

// A manager that never hears of it stops a service that has started.
void Daemon::tell_ready(Instant now) {
  ready_at_ = manager_.tell("READY=1") ? std::nullopt : std::optional(now + kReadyAgain);
}

tl::expected<void, std::string> Daemon::run_until_stopped() {
  while (!is_stopping_) {
    const Result<void> round = loop_.run_round(next_deadline());
    if (!round) return Problem("the event loop failed: " + round.error().message());
    on_deadlines();
  }
  return {};
}

std::optional<Instant> Daemon::next_deadline() const {
  std::optional<Instant> earliest = node_.next_deadline();
  const auto consider = [&earliest](std::optional<Instant> other) {
    if (other && (!earliest || *other < *earliest)) earliest = other;
  };
  consider(node_.sample_deadline());
  consider(sessions_.next_deadline());
  consider(control_socket_.next_deadline());
  consider(plugin_socket_.next_deadline());
  consider(http_.next_deadline());
  consider(unused_deadline());
  consider(folder_watch_.next_look());
  consider(silence_deadline());
  if (watchdog_) consider(watchdog_at_);
  consider(ready_at_);
  return earliest;
}

void Daemon::on_deadlines() {
  const Instant now = loop_.now();
  const auto has_come = [now](std::optional<Instant> deadline) {
    return deadline && *deadline <= now;
  };
  if (has_come(node_.next_deadline())) {
    node_.step(now, core::Tick{}, sessions_.effects());
    sessions_.settle();
  }
  if (has_come(node_.sample_deadline())) node_.sample(now);
  if (has_come(sessions_.next_deadline())) sessions_.on_deadline();
  control_socket_.on_deadline();
  plugin_socket_.on_deadline();
  if (has_come(http_.next_deadline())) http_.on_deadline(now);
  if (has_come(silence_deadline())) note_silence(now);
  if (has_come(ready_at_)) tell_ready(now);
  if (watchdog_ && has_come(watchdog_at_)) {
    manager_.tell("WATCHDOG=1");
    watchdog_at_ = now + *watchdog_;
  }
  usage_.update(now, is_used());
  if (is_used()) is_awaited_ = false;
  if (!is_stopping_ && has_come(folder_watch_.next_look())) look_at_folder(now);
  if (!is_stopping_ && has_come(unused_deadline())) stop_unless_awaited(now);
}

void Daemon::look_at_folder(Instant now) {
  if (options_.exit_when_unused && empty_if_long(STDERR_FILENO, kLogBytesMax)) {
    log(Level::warning, "the log was too long: it begins anew", {{"bytes_max", kLogBytesMax}});
  }
  if (folder_watch_.is_lost_for_good(now, folder_.is_lost())) stop(kFolderLost);
}

void Daemon::stop_unless_awaited(Instant now) {
  const std::optional<pid_t> pid = find_run_process(options_.folder);
  if (!pid) return stop_unless_visited(now);
  // It is looked for again and again, and may be another one each time.
  if (!is_awaited_) {
    log(Level::info, "nobody uses the daemon, but something of an nvshare run still lives",
        {{"pid", *pid}});
  }
  is_awaited_ = true;
  usage_.postpone(now);
}

// To look at all processes takes a while, in which an nvshare run may have found this daemon.
void Daemon::stop_unless_visited(Instant now) {
  if (!sessions_.close_entrance()) return stop("every program that came has ended");
  if (folder_.is_lost()) return stop(kFolderLost);  // the socket there is not ours to replace
  log(Level::info, "somebody came at the last moment: staying");
  usage_.postpone(now);
  auto socket = folder_.listen_for_tenants();
  if (!socket) return log(Level::error, "nobody else can come", {{"error", socket.error()}});
  const Result<void> listens = sessions_.listen(std::move(*socket));
  if (!listens) log(Level::error, "nobody else can come", {{"error", listens.error().message()}});
}

std::optional<Instant> Daemon::unused_deadline() const {
  if (!options_.exit_when_unused || is_used()) return std::nullopt;
  return usage_.end();
}

void Daemon::on_signal() {
  if (signals_.take()) stop("a signal asked for it");
}

void Daemon::stop(const char* why) {
  is_stopping_ = true;
  log(Level::info, "stopping: tenants run on by themselves",
      {{"reason", why}, {"clients", sessions_.count()}});
  manager_.tell("STOPPING=1");
  sessions_.stop();
  folder_.remove_sockets();
}

// What the next daemon needs to start. This process may live on for long: one of whose threads the
// driver keeps cannot even be killed, and has its descriptors until then.
void Daemon::make_way() {
  http_.stop();
  folder_.unlock();
}

}  // namespace nvs::daemon
