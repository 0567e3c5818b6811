// SPDX-License-Identifier: Apache-2.0
// The administrator's side of the daemon: a request is a line with a JSON object, and so is its
// answer. Everything here works on text, so that the daemon's loop does the input and output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "core/ids.h"
#include "core/policy.h"
#include "daemon/limit_change.h"
#include "daemon/slot_change.h"
#include "daemon/unsaved.h"

namespace nvs::daemon {

inline constexpr std::size_t kAdminRequestMax = std::size_t{64} << 10U;
// No further request of a connection is looked at while this much of its answers is not sent.
inline constexpr std::size_t kAdminBacklogMax = std::size_t{1} << 20U;
inline constexpr std::size_t kAdminConnectionsMax = 32;
inline constexpr double kTraceSecondsMax = 86'400;

struct AdminGpu {
  core::GpuId gpu{};
  std::string uuid;
  core::GpuPolicy policy;
  bool mps_active = false;  // its mode cannot be anything but concurrent
};
struct AdminTenant {
  core::TenantId tenant{};
  std::string name;
};

// What the daemon can be asked. Whatever comes in here has been checked: the GPUs and tenants are
// among those that gpus() and tenants() gave, and the values are in range.
class NodeControl {
 public:
  virtual ~NodeControl() = default;

  virtual std::vector<AdminGpu> gpus() = 0;
  virtual std::vector<AdminTenant> tenants() = 0;

  virtual std::string status() = 0;              // status_text()
  virtual std::string trace(Duration last) = 0;  // trace_text()

  virtual void set_policy(core::GpuId gpu, const core::GpuPolicy& policy) = 0;
  virtual void set_priority(core::TenantId tenant, core::Priority priority) = 0;
  virtual void set_weight(core::TenantId tenant, std::uint32_t weight) = 0;
  virtual void set_limits(core::TenantId tenant, const LimitChange& change) = 0;
  virtual void set_slots(const SlotChange& change) = 0;
  virtual void pause(core::TenantId tenant) = 0;
  virtual void resume(core::TenantId tenant) = 0;
  // Of all that was set so far; nothing: it is in the file.
  virtual std::optional<Unsaved> unsaved() = 0;
};

// The device plugin lives in a container and may ask for the status and tell who has which slot.
enum class Asker : std::uint8_t { administrator, plugin };

// The answer to one request; neither has its line end.
std::string answer(NodeControl& control, std::string_view line, Asker asker);

// For a peer that is not let in: one line with its end, then close.
std::string denied_answer(Asker asker);

// The bytes of one connection. The loop reads while wants_input(), writes what to_send() holds,
// and closes the connection once is_over() is true.
class AdminConnection {
 public:
  explicit AdminConnection(Asker asker = Asker::administrator) : asker_(asker) {}

  // Answers every whole line.
  void received(NodeControl& control, std::string_view bytes);
  // The peer will send nothing more; a last line without an end is answered too.
  void ended(NodeControl& control);

  std::string_view to_send() const { return std::string_view(output_).substr(sent_); }
  // The first `bytes` of to_send() have been written.
  void sent(NodeControl& control, std::size_t bytes);

  bool wants_input() const { return !ended_ && may_answer(); }
  bool is_over() const { return closing_ && to_send().empty(); }

 private:
  bool may_answer() const { return !closing_ && to_send().size() < kAdminBacklogMax; }
  void answer_lines(NodeControl& control);

  Asker asker_;
  std::string input_;
  std::string output_;
  std::size_t sent_ = 0;
  bool ended_ = false;    // the peer sends nothing more
  bool closing_ = false;  // no more requests are answered
};

}  // namespace nvs::daemon
