// SPDX-License-Identifier: Apache-2.0
// All promises that are checked: each has its own file here and is made by a function of its name.
#pragma once

#include <memory>

#include "tests/sim/checker.h"

namespace nvs::sim {

// What holds for the whole of a run, and lets a checker ask for more than it could otherwise.
struct RunTraits {
  bool quiet = false;  // saturating tenants of one class that neither come nor go nor fail
  std::uint64_t capacity = std::uint64_t{80} << 30U;  // of each GPU, at first
  std::uint64_t bus_rate = 16'000'000'000;            // bytes a second, each way
  bool capped = false;                                // somebody has a cap at some time
};

std::unique_ptr<Checker> make_books();
std::unique_ptr<Checker> make_bills();
std::unique_ptr<Checker> make_busy_loop();
std::unique_ptr<Checker> make_cap_changes(RunTraits traits);
std::unique_ptr<Checker> make_caps();
std::unique_ptr<Checker> make_caps_reached(RunTraits traits);
std::unique_ptr<Checker> make_catch_up();
std::unique_ptr<Checker> make_complete_windows();
std::unique_ptr<Checker> make_departed_clients();
std::unique_ptr<Checker> make_exclusive_windows();
std::unique_ptr<Checker> make_faults();
std::unique_ptr<Checker> make_fresh_grants();
std::unique_ptr<Checker> make_gangs();
std::unique_ptr<Checker> make_leaves();
std::unique_ptr<Checker> make_memory_capacity();
std::unique_ptr<Checker> make_memory_service(RunTraits traits);
std::unique_ptr<Checker> make_needless_closes();
std::unique_ptr<Checker> make_no_gaps();
std::unique_ptr<Checker> make_no_needless_moves();
std::unique_ptr<Checker> make_passed_over(RunTraits traits);
std::unique_ptr<Checker> make_priorities();
std::unique_ptr<Checker> make_queue_bounds();
std::unique_ptr<Checker> make_serial_turns();
std::unique_ptr<Checker> make_service_bound();
std::unique_ptr<Checker> make_shares(RunTraits traits);
std::unique_ptr<Checker> make_terms();
std::unique_ptr<Checker> make_turn_length(RunTraits traits);
std::unique_ptr<Checker> make_wakeups();

Checkers make_all_checkers(RunTraits traits);

}  // namespace nvs::sim
