// SPDX-License-Identifier: Apache-2.0
#include "workloads/runner.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "workloads/child.h"

namespace nvs::workloads {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int kTickMs = 100;
// Long enough for the line to reach all tenants before the moment that it names.
constexpr Seconds kStartDelay{0.02};
constexpr std::size_t kOutputBytesMax = 16384;
constexpr std::size_t kLineBytesMax = 65536;

std::vector<std::string> command_for(const TenantSpec& spec, const std::string& program) {
  std::vector<std::string> command = {program};
  command.insert(command.end(), spec.arguments.begin(), spec.arguments.end());
  const std::string fd = std::to_string(kChildStatusFd);
  for (const std::string& option :
       {std::string("--name"), spec.label, std::string("--device"), std::to_string(spec.gpu),
        std::string("--progress"), std::string("none"), std::string("--status-fd"), fd,
        std::string("--start-fd"), fd}) {
    command.push_back(option);
  }
  return command;
}

enum class Stream { kOpen, kAtEnd };

// Reads all that is there now.
Stream read_available(int fd, std::string& text) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      return got < 0 && errno == EAGAIN ? Stream::kOpen : Stream::kAtEnd;
    }
  }
}

// One tenant and its process.
class RunningTenant {
 public:
  RunningTenant(Child child, Tenant& tenant) : child_(std::move(child)), tenant_(tenant) {
    tenant_.pid = child_.pid();
  }

  bool ended() const { return tenant_.phase == Phase::kEnded; }
  bool waits_for_start() const { return tenant_.phase == Phase::kReady; }
  // Before the common start, and not lost.
  bool is_starting() const { return tenant_.phase == Phase::kStarting; }

  void add_to(std::vector<pollfd>& fds) const {
    if (child_.status_fd() >= 0) fds.push_back({child_.status_fd(), POLLIN, 0});
    if (child_.output_fd() >= 0) fds.push_back({child_.output_fd(), POLLIN, 0});
  }

  void start(std::string_view line) {
    // A tenant that is gone by now is noticed as such; it must not take us with it.
    static_cast<void>(::send(child_.status_fd(), line.data(), line.size(), MSG_NOSIGNAL));
    tenant_.phase = Phase::kRunning;
  }

  void kill(std::string why, bool timed_out) {
    tenant_.result.message = std::move(why);
    tenant_.timed_out = timed_out;
    child_.kill();
  }

  // Takes in what the process has said and whether it is over. True if the phase changed.
  bool follow() {
    const Phase before = tenant_.phase;
    // Asked first: what a process that has ended wrote is there to be read.
    const bool ended = child_.has_ended();
    read_output();
    read_status();
    if (ended) finish();
    return tenant_.phase != before;
  }

 private:
  void read_output() {
    if (child_.output_fd() < 0) return;
    if (read_available(child_.output_fd(), tenant_.output) == Stream::kAtEnd) child_.close_output();
    if (tenant_.output.size() > kOutputBytesMax) {
      tenant_.output.erase(0, tenant_.output.size() - kOutputBytesMax);
    }
  }

  void read_status() {
    if (child_.status_fd() < 0) return;
    if (read_available(child_.status_fd(), unread_) == Stream::kAtEnd) child_.close_status();
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = unread_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const auto status = decode_status(std::string_view(unread_).substr(begin, end - begin));
      if (status) std::visit([this](const auto& event) { take(event); }, *status);
    }
    unread_.erase(0, begin);
    // Not one of ours: nothing that we send is that long.
    if (unread_.size() > kLineBytesMax) unread_.clear();
  }

  void take(const ReadyStatus& event) {
    tenant_.ready = event;
    tenant_.phase = Phase::kReady;
  }
  void take(const Progress& event) { tenant_.progress = event; }
  void take(const VerifyingStatus& event) {
    tenant_.progress = event.progress;
    tenant_.phase = Phase::kVerifying;
  }
  void take(const ResultStatus& event) {
    tenant_.result = event;
    has_result_ = true;
  }

  void finish() {
    tenant_.phase = Phase::kEnded;
    if (has_result_) return;
    ResultStatus& result = tenant_.result;
    result.iterations = tenant_.progress.done;
    result.seconds = tenant_.progress.seconds;
    result.rate = tenant_.progress.rate;
    if (result.message.empty()) result.message = "the process " + child_.how_it_ended();
  }

  Child child_;
  Tenant& tenant_;
  std::string unread_;
  bool has_result_ = false;
};

// All tenants of one run, from the start of the first process to the end of the last.
class Run {
 public:
  Run(const std::vector<TenantSpec>& specs, const RunnerOptions& options) : options_(options) {
    for (const TenantSpec& spec : specs) tenants_.push_back({.spec = spec});
  }

  Result<std::vector<Tenant>> execute() {
    const std::string program = options_.workload_program.empty()
                                    ? own_folder() + "/nvshare-workload"
                                    : options_.workload_program;
    // The tenants must not move from here on: each process refers to its own.
    for (Tenant& tenant : tenants_) {
      running_.emplace_back(
          NVS_TRY(Child::start(command_for(tenant.spec, program), tenant.spec.environment)),
          tenant);
    }
    update();
    while (!std::all_of(running_.begin(), running_.end(), [](auto& t) { return t.ended(); })) {
      wait_for_news();
      bool changed = false;
      for (RunningTenant& tenant : running_) changed |= !tenant.ended() && tenant.follow();
      start_when_ready();
      kill_when_due();
      if (changed || Clock::now() >= next_update_) update();
    }
    return std::move(tenants_);
  }

 private:
  void wait_for_news() {
    std::vector<pollfd> fds;
    for (const RunningTenant& tenant : running_) {
      if (!tenant.ended()) tenant.add_to(fds);
    }
    // A signal ends it early, which is what cancelling needs.
    ::poll(fds.data(), fds.size(), kTickMs);
  }

  void start_when_ready() {
    if (started_ || std::any_of(running_.begin(), running_.end(),
                                [](auto& tenant) { return tenant.is_starting(); })) {
      return;
    }
    started_ = true;
    const Seconds when = Clock::now().time_since_epoch() + kStartDelay;
    const std::string line = fmt::format("{:.6f}\n", when.count());
    for (RunningTenant& tenant : running_) {
      if (tenant.waits_for_start()) tenant.start(line);
    }
  }

  void kill_when_due() {
    std::string why;
    bool timed_out = false;
    if (options_.is_cancelled && options_.is_cancelled()) {
      why = kCancelled;
    } else if (options_.timeout_seconds > 0 &&
               Seconds(Clock::now() - begin_).count() > options_.timeout_seconds) {
      why = fmt::format("not done after {:.0f} s, and killed", options_.timeout_seconds);
      timed_out = true;
    }
    if (why.empty()) return;
    for (RunningTenant& tenant : running_) {
      if (!tenant.ended()) tenant.kill(why, timed_out);
    }
  }

  void update() {
    next_update_ = Clock::now() + std::chrono::milliseconds(kTickMs);
    if (options_.on_update) options_.on_update(tenants_);
  }

  const RunnerOptions& options_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_update_{};
  bool started_ = false;
  std::vector<Tenant> tenants_;
  std::vector<RunningTenant> running_;
};

}  // namespace

Result<std::vector<Tenant>> run_tenants(const std::vector<TenantSpec>& specs,
                                        const RunnerOptions& options) {
  return Run(specs, options).execute();
}

std::string own_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string_view text(path.data(), length < 0 ? 0 : static_cast<std::size_t>(length));
  const std::size_t slash = text.rfind('/');
  return std::string(slash == std::string_view::npos ? "." : text.substr(0, slash));
}

}  // namespace nvs::workloads
