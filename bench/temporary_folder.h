// SPDX-License-Identifier: Apache-2.0
// A folder in /tmp for as long as it is needed, gone also where a user or a time limit ends the
// benchmark in between.
#pragma once

#include <string>

namespace nvs::bench {

class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Failure
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Removes those that there are, for a handler of signals: it makes only calls that are safe there.
void remove_temporary_folders();

// From now on the signals with which users end a program remove them first.
void remove_temporary_folders_on_signals();

}  // namespace nvs::bench
