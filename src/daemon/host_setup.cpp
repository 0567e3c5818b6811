// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_setup.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.h"
#include "daemon/limits.h"
#include "os/memfd.h"
#include "os/memory_size.h"

namespace nvs::daemon {

HostPlan plan_for_this_machine(std::optional<std::uint64_t> asked) {
  if (asked) return plan_host_memory(*asked);
  const auto there_is = os::memory_size();
  if (!there_is) {
    log(Level::warning, "no host memory is lent: how much there is cannot be read", {});
    return {};
  }
  return plan_host_memory(*there_is / 2);
}

unsigned host_threads(unsigned processors) {
  return std::clamp(processors / 2, 1U, kHostThreadsMax);
}

std::unique_ptr<HostPool> make_host_pool(const HostPlan& plan) {
  const os::MemfdHugePages pages = os::memfd_huge_pages();
  std::unique_ptr<HostWorkers> workers;
  if (plan.segments > 0) {
    const unsigned threads = host_threads(std::thread::hardware_concurrency());
    auto started = HostWorkers::create(threads, pages);
    if (started) {
      workers = std::move(*started);
      log(Level::info, "host memory may be lent",
          {{"mib", plan.cap_bytes >> 20U},
           {"segment_mib", plan.segment_bytes >> 20U},
           {"threads", threads},
           {"huge_pages", pages.possible}});
    } else {
      log(Level::warning, "no host memory is lent", {{"error", started.error().message()}});
    }
  }
  return std::make_unique<HostPool>(plan, std::move(workers), pages,
                                    [] { return os::memory_available(); });
}

}  // namespace nvs::daemon
