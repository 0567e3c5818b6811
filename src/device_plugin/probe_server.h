// SPDX-License-Identifier: Apache-2.0
// Answers the kubelet's probes over HTTP, in the event loop: whoever gets an answer knows that the
// loop turns. GET /healthz is always well, GET /readyz when all resources are registered.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/unique_fd.h"
#include "device_plugin/config.h"
#include "os/event_loop.h"

namespace nvs::plugin {

class ProbeServer {
 public:
  // Empty: ready. Else why not.
  using Readiness = std::function<std::string()>;

  // `address` is HOST:PORT or :PORT for all; port 0 is any that is free. The loop outlives it.
  static Parsed<std::unique_ptr<ProbeServer>> create(const std::string& address,
                                                     os::EventLoop& loop, Readiness readiness);
  ~ProbeServer();
  ProbeServer(const ProbeServer&) = delete;
  ProbeServer& operator=(const ProbeServer&) = delete;

  int port() const { return port_; }

  // The answer to a request, of which the first line is there.
  static std::string answer(const std::string& request, const Readiness& readiness);

 private:
  // Probes come one at a time; whoever holds more open is not a kubelet.
  static constexpr std::size_t kVisitorsMax = 16;
  static constexpr std::size_t kRequestMax = 4096;

  struct Visitor {
    UniqueFd fd;
    std::string request;
  };

  ProbeServer(UniqueFd listener, int port, os::EventLoop& loop, Readiness readiness);
  void welcome();
  void read(int fd);
  void dismiss(int fd);

  UniqueFd listener_;
  int port_;
  os::EventLoop& loop_;
  Readiness readiness_;
  std::map<int, Visitor> visitors_;
};

}  // namespace nvs::plugin
