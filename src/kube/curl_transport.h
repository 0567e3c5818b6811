// SPDX-License-Identifier: Apache-2.0
// One request at a time over libcurl, in pieces as they come: a connection of its own for each, so
// that none hangs because an earlier one does. It waits in one place, and can be woken there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "kube/watch_machine.h"

namespace nvs::kube {

struct CurlRequest {
  std::string url;
  std::string accept;
  std::string token;   // empty: none
  std::string ca_pem;  // of the CAs that are believed; none: nobody is
  Duration connect_timeout;
};

class CurlTransport {
 public:
  static Result<std::unique_ptr<CurlTransport>> create(std::string user_agent);
  virtual ~CurlTransport() = default;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  // In place of the request before. Error: there is no memory for it.
  virtual Result<void> start(const CurlRequest& request) = 0;
  // Nothing more is heard of it. It does not wait for anybody.
  virtual void cancel() = 0;

  // Waits until something came, until the deadline, or for wake(); returns what came, in its order.
  virtual std::vector<Input> wait(std::optional<Instant> deadline) = 0;
  // From any thread: the wait under way ends, or the next one.
  virtual void wake() = 0;

 protected:
  CurlTransport() = default;
};

}  // namespace nvs::kube
