// SPDX-License-Identifier: Apache-2.0
// Runs one program twice, alone and with libnvshare.so, and shows where the two differ. What it
// does alone is the reference: the library has to be invisible.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace nvs::interposer_test {

using Environment = std::map<std::string, std::string>;

enum class Library {
  none,
  product,  // libnvshare.so as it is shipped
  test,     // the same, with a gate that a test can close
};

enum class Addresses { random, fixed };

struct Command {
  std::string program;  // one of build/test/strangers, or a path
  std::vector<std::string> arguments = {};
  std::string driver = "full";           // the fake driver; empty: none is given
  Environment environment = {};          // on top of what every process gets
  std::vector<std::string> before = {};  // other libraries to preload, before ours
  std::vector<std::string> after = {};   // and after ours
  Addresses addresses = Addresses::random;
};

struct Outcome {
  int status = -1;  // exit status, or minus the signal
  std::string output;
  std::string errors;    // standard error but for the evidence
  std::string evidence;  // what the program said about where its pointers come from
};

/// Runs a program to its end. A failure of the test if that takes minutes.
Outcome run(const Command& command, Library library);

/// Runs it without and with the library, and expects the same. What it did with the library.
Outcome same_as_alone(const Command& command, Library library = Library::product);

/// The first lines in which two texts differ.
std::string difference(const std::string& with, const std::string& alone);

/// Paths of what was built: "lib/sim" is the folder of the simulator.
std::string built(const std::string& path);
std::string library_path(Library library);

/// Whether pointers came from our library. With Library::none they must not.
bool is_hooked(const Outcome& outcome);

}  // namespace nvs::interposer_test
