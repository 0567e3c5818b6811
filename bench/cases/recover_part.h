// SPDX-License-Identifier: Apache-2.0
// The two tenants of the case `recover`: one that something happens to, and one that tells when it
// got something done.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "bench/cases/sharing_part.h"

namespace nvs::bench::recover_case {

// Looks again and again until it is so. Throws Failure if that does not come about, with what was
// waited for and the states of all tenants.
void wait_until(const DaemonProcess& daemon, const std::string& what,
                const std::function<bool()>& is_so);

// Whether the tenant of this process has the GPU now, by the daemon's word.
bool has_window(const DaemonProcess& daemon, pid_t pid);
// Windows that it has had so far; nothing if this daemon does not know it (yet).
std::optional<double> windows_of(const DaemonProcess& daemon, pid_t pid);

// Saturates the GPU until it is killed, which is with this object at the latest.
class Victim {
 public:
  // `extra` is what it has in its environment beside what a tenant has.
  explicit Victim(Sharing& sharing, const Child::Environment& extra = {});
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  pid_t pid() const { return tenants_.pid(0); }
  void work();
  void send(int signal) const;
  // From now on it stands still for 90 of each 100 ms, as a container does that has used up a CPU
  // limit of a tenth. (Control groups cannot be made everywhere; a test has the real ones.)
  void stutter();

 private:
  Tenants tenants_;
  std::future<void> work_;
  std::jthread stutters_;
};

// Saturates the GPU for as long as it takes to make a fault and to see what comes of it.
class Other {
 public:
  explicit Other(Sharing& sharing);

  pid_t pid() const { return tenants_.pid(0); }
  void work();
  // The longest time without any work completed, from that instant on: until the first that is,
  // and between two of them as long as it was watched. On the wall clock: that is what is promised,
  // and what the daemon's deadlines are in.
  double longest_gap_ms(std::int64_t since_ns);

 private:
  Sharing& sharing_;
  Tenants tenants_;
  std::int64_t ends_at_ns_ = 0;
  std::future<std::vector<nlohmann::json>> work_;
};

}  // namespace nvs::bench::recover_case
