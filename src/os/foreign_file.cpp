// SPDX-License-Identifier: Apache-2.0
#include "os/foreign_file.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "os/process.h"
#include "os/signals.h"

namespace nvs::os {
namespace {

using Clock = std::chrono::steady_clock;

// What takes longer than this to close is interrupted: a socket that lingers gives up then, also
// one that lies in an unread packet. Closing anything that means no harm takes less.
constexpr std::chrono::milliseconds kPatience{2};
// From then on, and where much waits, it is so again and again: a packet may bring hundreds, and a
// socket keep hundreds of packets.
constexpr std::chrono::microseconds kImpatience{50};
constexpr std::size_t kMuch = 16;
// Some files cannot be interrupted, as where a program in user space answers for them. Whoever is
// stuck with one is left to it, and another thread goes on; there are so many at most.
constexpr std::chrono::seconds kStuck{1};
constexpr std::size_t kWorkersMax = 8;
constexpr std::chrono::milliseconds kStuckLook{100};
// One that is ignored unless somebody asks for it, and that nobody here does.
constexpr int kInterrupt = SIGURG;

void do_nothing(int) {}

// Only of descriptors that are sockets; the others refuse it.
void end_lingering(int fd) {
  const linger off{0, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof off);
}

void be_called(const char* name) {
  ::pthread_setname_np(::pthread_self(), name);
  // How much there is to do is up to strangers.
  [[maybe_unused]] const Result<void> ordinary = set_niceness(0);
}

class Closer {
 public:
  void close(UniqueFd fd, ForeignFile::Ticket ticket) {
    const std::unique_lock lock(mutex_);
    if (!is_started_) start();
    waiting_.push_back({std::move(ticket), std::move(fd)});
    wake_.notify_all();
  }

  void wait_until_closed() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return waiting_.empty() && closing() == 0; });
  }

 private:
  struct Waiting {
    ForeignFile::Ticket ticket;  // declared first: it is given back after the descriptor
    UniqueFd fd;
  };
  struct Worker {
    pthread_t thread{};
    bool is_closing = false;
    Clock::time_point since;  // if so
  };

  std::ptrdiff_t closing() const {
    return std::count_if(workers_.begin(), workers_.end(),
                         [](const auto& one) { return one->is_closing; });
  }

  // With the lock held. If there is no thread to be had, whoever closes something next tries again.
  void start() {
    struct sigaction action {};
    action.sa_handler = do_nothing;  // without SA_RESTART: it is to interrupt
    ::sigaction(kInterrupt, &action, nullptr);
    if (workers_.empty() && !add_worker()) return;
    const NoSignals blocked;
    try {
      std::thread([this] { interrupt_what_is_slow(); }).detach();
      is_started_ = true;
    } catch (const std::system_error&) {
    }
  }

  bool add_worker() {
    const NoSignals blocked;
    auto worker = std::make_unique<Worker>();
    try {
      std::thread closes([this, raw = worker.get()] { run(*raw); });
      worker->thread = closes.native_handle();
      closes.detach();
    } catch (const std::system_error&) {
      return false;
    }
    workers_.push_back(std::move(worker));
    return true;
  }

  void run(Worker& me) {
    be_called("close-files");
    sigset_t interrupt{};
    ::sigemptyset(&interrupt);
    ::sigaddset(&interrupt, kInterrupt);
    ::pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return !waiting_.empty(); });
      Waiting one = std::move(waiting_.front());
      waiting_.pop_front();
      me.is_closing = true;
      me.since = Clock::now();
      lock.unlock();
      end_lingering(one.fd.get());
      one.fd.reset();
      one.ticket.reset();
      lock.lock();
      me.is_closing = false;
      done_.notify_all();
    }
  }

  void interrupt_what_is_slow() {
    be_called("close-files-2");
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return closing() != 0 || !waiting_.empty(); });
      const Clock::duration patience = interrupt_those_that_are();
      lock.unlock();
      std::this_thread::sleep_for(patience);
      lock.lock();
    }
  }

  // And how soon to look again.
  Clock::duration interrupt_those_that_are() {
    const Clock::time_point now = Clock::now();
    bool is_urgent = waiting_.size() > kMuch;
    const auto most = is_urgent ? Clock::duration(kImpatience) : Clock::duration(kPatience);
    std::ptrdiff_t stuck = 0;
    for (const auto& one : workers_) {
      const Clock::duration span = one->is_closing ? now - one->since : Clock::duration{};
      if (span < most) continue;
      ::pthread_kill(one->thread, kInterrupt);
      if (span >= kStuck) {
        ++stuck;
      } else {
        is_urgent = true;
      }
    }
    const bool is_more_to_do = !waiting_.empty();
    const bool is_any_free = stuck < static_cast<std::ptrdiff_t>(workers_.size());
    if (is_more_to_do && !is_any_free && workers_.size() < kWorkersMax) add_worker();
    // Those that are stuck are asked now and then, unless others are in their way as well.
    if (stuck > 0 && stuck == closing() && !(is_more_to_do && is_any_free)) return kStuckLook;
    return is_urgent ? Clock::duration(kImpatience) : Clock::duration(kPatience);
  }

  std::mutex mutex_;              // of all below
  std::condition_variable wake_;  // there is something to close
  std::condition_variable done_;  // something was closed
  std::deque<Waiting> waiting_;
  std::vector<std::unique_ptr<Worker>> workers_;
  bool is_started_ = false;
};

// Its threads never end, so it is never destroyed: it goes with the process, whose end waits for no
// descriptor.
Closer& closer(ForeignFile::Kind kind) {
  static Closer* const of_passed = new Closer;
  static Closer* const of_our_sockets = new Closer;
  return kind == ForeignFile::Kind::passed ? *of_passed : *of_our_sockets;
}

}  // namespace

void ForeignFile::reset() {
  if (fd_) closer(kind_).close(std::move(fd_), std::move(ticket_));
  ticket_.reset();
}

void wait_until_closed() {
  closer(ForeignFile::Kind::our_socket).wait_until_closed();  // which may bring others
  closer(ForeignFile::Kind::passed).wait_until_closed();
}

}  // namespace nvs::os
