// SPDX-License-Identifier: Apache-2.0
// Who has which segment of host memory, who waits for one, and who may have more: the decisions of
// the host pool, without its input and output. Events go in; what is to be done comes out.
//
// A segment is made and touched, then ready, then handed to one client, once; when that client
// gives it back or leaves, it goes back to the system and never to anybody else, who would share
// it with a hostile tenant that kept its mapping.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "daemon/host_plan.h"
#include "daemon/host_view.h"
#include "wire/messages.h"

namespace nvs::daemon {

enum class SegmentId : std::uint64_t {};  // never used twice

class HostBooks {
 public:
  struct Touch {  // make the segment, then report touched() or failed()
    SegmentId segment;
  };
  struct Free {  // give it back to the system, then report freed()
    SegmentId segment;
  };
  struct HandOver {
    SegmentId segment;
    core::ClientId client;
    std::uint64_t request;
  };
  struct Deny {  // so much of the request will not come
    core::ClientId client;
    std::uint64_t request;
    wire::HostDenial reason;
    std::uint64_t bytes;
  };
  struct TellShort {  // somebody lacks what is lent to others, or nobody any more
    core::ClientId client;
    bool is_short;
  };
  using Action = std::variant<Touch, Free, HandOver, Deny, TellShort>;
  using Actions = std::vector<Action>;

  explicit HostBooks(const HostPlan& plan) : plan_(plan) {}

  // Actions are appended.
  void join(core::ClientId client, core::TenantId tenant, Actions& actions);
  void leave(core::ClientId client, Actions& actions);
  // As many segments as make up `bytes`, which is not 0. `request` is the client's own number.
  void need(core::ClientId client, std::uint64_t request, std::uint64_t bytes, Actions& actions);
  // It has so much from an earlier daemon, which counts against the cap as if it were lent now: a
  // client that lies gains no more than by asking. Replaces what it said before.
  void keep(core::ClientId client, std::uint64_t bytes, Actions& actions);
  // It lacks so much for what must leave a GPU now, beyond what was promised: it gets it before all
  // others, of any part of the pool, as soon as there is some. Replaces what it said before.
  void lack(core::ClientId client, std::uint64_t bytes, Actions& actions);
  // False: it does not hold that segment.
  bool give_back(core::ClientId client, SegmentId segment, Actions& actions);

  void touched(SegmentId segment, Actions& actions);
  // There is no memory for it: whoever waits is denied.
  void failed(SegmentId segment, Actions& actions);
  void freed(SegmentId segment, Actions& actions);

  HostView view() const;

 private:
  struct Client {
    core::TenantId tenant{};
    bool has_asked = false;
    std::set<SegmentId> held = {};
    std::uint64_t kept = 0;  // from an earlier daemon, in our segments
    std::uint64_t lacks = 0;
  };
  struct Tenant {
    std::uint64_t clients = 0;
    std::uint64_t held = 0;
    std::uint64_t promised = 0;
    std::uint64_t kept = 0;
    std::uint64_t owned() const { return held + promised + kept; }
  };
  // What was promised of a request and has not been handed over.
  struct Wish {
    core::ClientId client;
    core::TenantId tenant;
    std::uint64_t request;
    std::uint64_t segments;
    std::uint64_t bytes;
    bool is_lack;  // and has no request
  };

  std::uint64_t allowance(const Tenant& tenant) const;
  std::uint64_t kept_for_others(const Tenant& tenant, std::uint64_t others) const;
  std::uint64_t existing() const;
  std::uint64_t owned() const { return held_ + promised_ + kept_; }
  void set_kept(Client& client, std::uint64_t segments);
  void set_lacks(Client& client, std::uint64_t segments);
  std::uint64_t promised_to(core::ClientId id) const;
  void promise_to_lacking();
  void tell_short(Actions& actions);
  // How many segments there should be that nobody holds.
  std::uint64_t aim() const;
  void pump(Actions& actions);
  void hand_over(SegmentId segment, Actions& actions);
  void free(SegmentId segment, Actions& actions);
  void deny(core::ClientId client, std::uint64_t request, wire::HostDenial reason,
            std::uint64_t bytes, Actions& actions);

  HostPlan plan_;
  std::uint64_t segments_ever_ = 0;
  std::unordered_map<core::ClientId, Client> clients_;
  std::map<core::TenantId, Tenant> tenants_;
  std::deque<Wish> wishes_;  // in order of arrival
  std::set<SegmentId> touching_;
  std::vector<SegmentId> ready_;
  std::set<SegmentId> freeing_;
  std::uint64_t held_ = 0;
  std::uint64_t promised_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t lacks_ = 0;
  bool is_short_ = false;     // as clients were last told
  std::uint64_t askers_ = 0;  // clients that have ever asked
  std::uint64_t refused_ = 0;
  bool is_starved_ = false;  // the system had no memory when it was last asked
};

}  // namespace nvs::daemon
