// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/checkers/checkers.h"

namespace nvs::sim {

Checkers make_all_checkers(RunTraits traits) {
  Checkers all;
  all.push_back(make_departed_clients());
  all.push_back(make_fresh_grants());
  all.push_back(make_exclusive_windows());
  all.push_back(make_needless_closes());
  all.push_back(make_no_gaps());
  all.push_back(make_gangs());
  all.push_back(make_catch_up());
  all.push_back(make_terms());
  all.push_back(make_queue_bounds());
  all.push_back(make_priorities());
  all.push_back(make_wakeups());
  all.push_back(make_serial_turns());
  all.push_back(make_service_bound());
  all.push_back(make_shares(traits));
  all.push_back(make_caps());
  all.push_back(make_caps_reached(traits));
  all.push_back(make_cap_changes(traits));
  all.push_back(make_memory_capacity());
  all.push_back(make_complete_windows());
  all.push_back(make_no_needless_moves());
  all.push_back(make_leaves());
  all.push_back(make_faults());
  all.push_back(make_turn_length(traits));
  all.push_back(make_memory_service(traits));
  all.push_back(make_passed_over(traits));
  all.push_back(make_busy_loop());
  all.push_back(make_books());
  all.push_back(make_bills());
  return all;
}

}  // namespace nvs::sim
