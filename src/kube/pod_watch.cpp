// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_watch.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include "kube/curl_transport.h"
#include "kube/limits.h"
#include "kube/watch_machine.h"
#include "os/clock.h"
#include "os/file_text.h"
#include "os/process.h"
#include "os/signals.h"

namespace nvs::kube {
namespace {

constexpr const char* kUserAgent = "nvshare/" NVS_VERSION;

std::function<double()> random_chance() {
  return [engine = std::mt19937_64(std::random_device{}())]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(engine);
  };
}

class Watch final : public PodWatch {
 public:
  Watch(Settings settings, Post post, std::unique_ptr<CurlTransport> transport)
      : settings_(std::move(settings)),
        post_(std::move(post)),
        transport_(std::move(transport)),
        machine_(settings_.node, settings_.timing, random_chance()) {}
  ~Watch() override {
    is_stopping_ = true;
    transport_->wake();
    if (thread_.joinable()) thread_.join();
  }

  Result<void> start_thread();

 private:
  void run();
  void step(const Input& input);
  void perform(const StartRequest& request);
  void perform(const CancelRequest& effect);
  void perform(const ReloadCa& /*effect*/) { ca_pem_.clear(); }
  void perform(PostUpdate& effect) { post_(std::move(effect.update)); }
  // What is wrong, or nothing.
  std::string fill_in(CurlRequest& request);

  const Settings settings_;
  const Post post_;
  std::atomic<bool> is_stopping_ = false;
  const std::unique_ptr<CurlTransport> transport_;  // the thread's, but for wake()
  // The thread's alone.
  WatchMachine machine_;
  std::string ca_pem_;          // empty: to be read
  std::uint64_t requests_ = 0;  // that were started or cancelled
  std::deque<Input> further_;   // to be stepped after the one of now
  std::thread thread_;          // the owner's alone
};

Result<void> Watch::start_thread() {
  const os::NoSignals inherited;  // and a connection that breaks raises one
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return tl::unexpected(Error::from_errno(error.code().value(), "start a thread"));
  }
  return {};
}

void Watch::run() {
  ::pthread_setname_np(::pthread_self(), "pod-watch");
  // The owner may be more urgent than others, and threads that it starts are so too.
  [[maybe_unused]] const Result<void> ordinary = os::set_niceness(0);
  step(Started{});
  while (!is_stopping_) {
    const std::vector<Input> inputs = transport_->wait(machine_.next_deadline());
    const std::uint64_t about = requests_;
    for (const Input& input : inputs) {
      // What else came of a request that is over is not about the next one.
      if (is_stopping_ || requests_ != about) break;
      step(input);
    }
    step(Tick{});
  }
}

void Watch::step(const Input& input) {
  further_.push_back(input);
  while (!further_.empty()) {
    const Input next = std::move(further_.front());
    further_.pop_front();
    std::vector<Effect> effects;
    machine_.step(os::monotonic_now(), next, effects);
    for (Effect& effect : effects) {
      std::visit([this](auto& one) { perform(one); }, effect);
    }
  }
}

std::string Watch::fill_in(CurlRequest& request) {
  if (!settings_.token_path.empty()) {
    Result<std::string> token = os::read_file(settings_.token_path, kTokenBytesMax);
    if (!token) return settings_.token_path + ": " + token.error().message();
    token->erase(token->find_last_not_of(" \t\r\n") + 1);
    if (token->empty() || shown(*token, token->size()) != *token) {
      return settings_.token_path + " holds no token";
    }
    request.token = std::move(*token);
  }
  if (!settings_.ca_path.empty() && ca_pem_.empty()) {
    Result<std::string> ca = os::read_file(settings_.ca_path, kCaBytesMax);
    if (!ca) return settings_.ca_path + ": " + ca.error().message();
    if (ca->empty()) return settings_.ca_path + " is empty";
    ca_pem_ = std::move(*ca);
  }
  request.ca_pem = ca_pem_;
  return "";
}

void Watch::perform(const CancelRequest& /*effect*/) {
  ++requests_;
  transport_->cancel();
}

void Watch::perform(const StartRequest& wanted) {
  ++requests_;
  CurlRequest request{settings_.api_url + wanted.target, wanted.accept, "", "",
                      settings_.timing.connect};
  if (std::string wrong = fill_in(request); !wrong.empty()) {
    further_.emplace_back(RequestFailed{Reason::credentials, std::move(wrong)});
    return;
  }
  const Result<void> started = transport_->start(request);
  if (!started) further_.emplace_back(RequestFailed{Reason::connect, started.error().message()});
}

}  // namespace

Result<std::unique_ptr<PodWatch>> PodWatch::start(const Settings& settings, Post post) {
  std::unique_ptr<CurlTransport> transport = NVS_TRY(CurlTransport::create(kUserAgent));
  auto watch = std::make_unique<Watch>(settings, std::move(post), std::move(transport));
  NVS_TRY(watch->start_thread());
  return watch;
}

}  // namespace nvs::kube
