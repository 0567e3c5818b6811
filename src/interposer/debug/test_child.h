// SPDX-License-Identifier: Apache-2.0
// Runs part of a test in a process of its own: the log is started once in a process, and much of it
// shows only at exit.
#pragma once

#include <functional>
#include <string>

namespace nvs::interposer::debug {

struct ChildResult {
  int pid = 0;
  int status = 0;      // as waitpid has it
  std::string errors;  // its stderr
};

// Ends the child in good order after `body`, so that destructors run.
ChildResult run_in_child(const std::function<void()>& body);

std::string read_whole(const std::string& path);

// A new empty folder.
std::string make_folder();

}  // namespace nvs::interposer::debug
