// SPDX-License-Identifier: Apache-2.0
// nvsharectl top
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include <poll.h>
#include <unistd.h>

#include "base/result.h"
#include "cli/ctl/admin_client.h"
#include "cli/ctl/admin_messages.h"
#include "cli/ctl/commands.h"
#include "cli/ctl/exit_codes.h"
#include "cli/ctl/terminal.h"
#include "cli/ctl/top_state.h"
#include "cli/ctl/top_view.h"
#include "os/clock.h"
#include "os/signals.h"

namespace nvs::cli {
namespace {

constexpr Duration kPollEvery = Duration::from_s(1);
// A daemon that hangs must not make the keys hang for long.
constexpr Duration kPatience = Duration::from_s(1);
constexpr std::int64_t kNsInMs = 1'000'000;

class Top {
 public:
  Top(const CtlOptions& options, Terminal& terminal, os::SignalFd& signals)
      : options_(options), terminal_(terminal), signals_(signals) {}

  // The signal that ended it, if it was one.
  std::optional<int> run();

  Outcome<void> refresh();

 private:
  Outcome<std::string> ask(const std::string& request);
  void poll_daemon();
  void draw();
  bool wait();
  void take_keys();
  std::optional<int> take_signals();

  const CtlOptions& options_;
  Terminal& terminal_;
  os::SignalFd& signals_;
  std::optional<AdminClient> daemon_;
  TopState state_;
  Instant next_poll_;
  bool gone_ = false;  // the terminal
};

Outcome<std::string> Top::ask(const std::string& request) {
  // The daemon may have been restarted since the last time.
  if (!daemon_) daemon_ = NVS_TRY(AdminClient::connect(options_.folder));
  Outcome<std::string> answer = daemon_->ask(request, kPatience);
  if (!answer) daemon_.reset();
  return answer;
}

Outcome<void> Top::refresh() {
  const std::string answer = NVS_TRY(ask(status_request()));
  state_.update(NVS_TRY(status_of(answer)));
  return {};
}

void Top::poll_daemon() {
  const Outcome<void> done = refresh();
  if (!done) state_.say(done.error().text);
  next_poll_ = os::monotonic_now() + kPollEvery;
}

void Top::draw() {
  if (!terminal_.draw(top_view(state_, terminal_.size()))) gone_ = true;
}

// Until a key, a signal or the time of the next poll; true if there are keys.
bool Top::wait() {
  const std::int64_t left = (next_poll_ - os::monotonic_now()).ns();
  pollfd what[] = {{STDIN_FILENO, POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
  ::poll(what, std::size(what), left <= 0 ? 0 : static_cast<int>(left / kNsInMs) + 1);
  return what[0].revents != 0;
}

void Top::take_keys() {
  std::string bytes;
  if (!terminal_.read(bytes)) gone_ = true;
  for (const Key key : keys_of(bytes)) {
    const std::optional<std::string> request = state_.press(key);
    if (!request) continue;
    const Outcome<std::string> answer = ask(*request);
    const Outcome<void> done = answer ? check_change(*answer) : tl::unexpected(answer.error());
    if (!done) state_.say(done.error().text);
    // What the key did is to be seen at once.
    next_poll_ = os::monotonic_now();
  }
}

std::optional<int> Top::take_signals() {
  while (const std::optional<int> signal = signals_.take()) {
    if (*signal == SIGTSTP) {
      terminal_.leave();
      ::raise(SIGSTOP);
      terminal_.enter();
    } else if (*signal != SIGWINCH) {
      return signal;
    }
  }
  return std::nullopt;
}

std::optional<int> Top::run() {
  next_poll_ = os::monotonic_now() + kPollEvery;
  while (!state_.is_done() && !gone_) {
    draw();
    if (wait()) take_keys();
    if (const std::optional<int> signal = take_signals()) return signal;
    if (os::monotonic_now() >= next_poll_) poll_daemon();
  }
  return std::nullopt;
}

// As if it had never been caught, so that whoever waits for us learns what ended us.
void end_by(int number) {
  ::signal(number, SIG_DFL);
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, number);
  ::raise(number);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
}

Outcome<std::optional<int>> top(const CtlOptions& options) {
  const std::unique_ptr<Terminal> terminal = NVS_TRY(Terminal::open());
  // Before the screen is taken, so that no signal can come in between.
  auto signals =
      os::SignalFd::create({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGWINCH});
  if (!signals) return failure(signals.error().message(), kCtlFailed);
  Top screen(options, *terminal, *signals);
  // Whatever is wrong with the daemon at the start is said where it stays to be read.
  NVS_TRY(screen.refresh());
  terminal->enter();
  return screen.run();
}

}  // namespace

EarlyExit top_command(const CtlOptions& options) {
  const Outcome<std::optional<int>> signal = top(options);
  if (!signal) return signal.error();
  if (*signal) end_by(**signal);
  return {kExitOk, ""};
}

}  // namespace nvs::cli
