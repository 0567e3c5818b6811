// SPDX-License-Identifier: Apache-2.0
// A wrong call can crash a driver, poison a context or hang. So every section runs in a child
// process; the runner collects the children's lines, notes crashes and hangs as lines of their own,
// and goes on with the next step.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tests/conformance/run.h"

namespace nvs::conformance {

using LineSink = std::function<void(std::string_view line)>;

// Runs all steps of a section in children of the program at `self`, and gives each transcript line
// to `sink`.
void run_section(const std::string& self, const Section& section, const LineSink& sink);

// The other side: what a child started by run_section, or by start_hidden_step, does. Returns its
// exit status.
int child_main(int argc, char** argv);

// Runs a hidden step of a section in a process of its own and waits for it; its lines join those of
// the caller.
void run_hidden_step(Run& run, const char* section, const char* step, const std::string& argument);

// Sets what the process does in an exit handler that was registered before the driver was loaded.
void at_late_exit(void (*function)());

}  // namespace nvs::conformance
