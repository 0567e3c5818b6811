// SPDX-License-Identifier: Apache-2.0
#include "os/foreign_file.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

namespace nvs::os {
namespace {

// What takes longer than this to close is interrupted, again and again: a socket that lingers gives
// up then, also one that lies in an unread packet. Closing anything that means no harm takes less.
constexpr std::chrono::milliseconds kPatience{2};
// One that is ignored unless somebody asks for it, and that nobody here does.
constexpr int kInterrupt = SIGURG;

void do_nothing(int) {}

// Only of descriptors that are sockets; the others refuse it.
void end_lingering(int fd) {
  const linger off{0, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof off);
}

class Closer {
 public:
  void close(UniqueFd fd) {
    const std::unique_lock lock(mutex_);
    if (!is_started_) start();
    waiting_.push_back(std::move(fd));
    wake_.notify_all();
  }

  void wait_until_closed() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return waiting_.empty() && !is_closing_; });
  }

 private:
  // With the lock held. If there is no thread to be had, whoever closes something next tries again.
  void start() {
    struct sigaction action {};
    action.sa_handler = do_nothing;  // without SA_RESTART: it is to interrupt
    ::sigaction(kInterrupt, &action, nullptr);
    sigset_t all{};
    sigset_t before{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      if (!has_closer_) {
        std::thread closes([this] { run(); });
        thread_ = closes.native_handle();
        closes.detach();
        has_closer_ = true;
      }
      std::thread([this] { interrupt_what_is_slow(); }).detach();
      is_started_ = true;
    } catch (const std::system_error&) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run() {
    ::pthread_setname_np(::pthread_self(), "close-files");
    sigset_t interrupt{};
    ::sigemptyset(&interrupt);
    ::sigaddset(&interrupt, kInterrupt);
    ::pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return !waiting_.empty(); });
      UniqueFd fd = std::move(waiting_.front());
      waiting_.pop_front();
      is_closing_ = true;
      lock.unlock();
      end_lingering(fd.get());
      fd.reset();
      lock.lock();
      is_closing_ = false;
      ++closed_;
      idle_.notify_all();
    }
  }

  void interrupt_what_is_slow() {
    ::pthread_setname_np(::pthread_self(), "close-files-2");
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return is_closing_ || !waiting_.empty(); });
      const std::size_t before = closed_;
      idle_.wait_for(lock, kPatience, [&] { return closed_ != before; });
      if (closed_ == before && is_closing_) ::pthread_kill(thread_, kInterrupt);
    }
  }

  std::mutex mutex_;              // of all below
  std::condition_variable wake_;  // there is something to close
  std::condition_variable idle_;  // something was closed
  std::deque<UniqueFd> waiting_;
  bool is_closing_ = false;
  std::size_t closed_ = 0;
  bool has_closer_ = false;
  bool is_started_ = false;
  pthread_t thread_{};
};

// Its threads never end, so it is never destroyed: it goes with the process, whose end waits for no
// descriptor.
Closer& closer() {
  static Closer* const one = new Closer;
  return *one;
}

}  // namespace

void ForeignFile::reset() {
  if (fd_) closer().close(std::move(fd_));
}

void wait_until_closed() { closer().wait_until_closed(); }

}  // namespace nvs::os
