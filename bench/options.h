// SPDX-License-Identifier: Apache-2.0
// The command line: what to run, on which GPU, and how to show it. Parsing is pure: it prints
// nothing and does not exit, so that every message a user can meet is a test.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "bench/report.h"

namespace nvs::bench {

// The exit codes are part of the interface (`--help` names them).
inline constexpr int kExitOk = 0;
inline constexpr int kExitMissed = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitFailed = 3;

enum class Backend { kAutomatic, kGpu, kSimulator };

struct SimulatorOptions {
  std::string preset;  // empty: what the case needs
  std::optional<unsigned> gpus;
  std::optional<unsigned> scale;
  std::optional<double> time_factor;
};

struct Options {
  std::vector<std::string> cases;
  Backend backend = Backend::kAutomatic;
  SimulatorOptions simulator;
  Format format = Format::kTable;
  std::string library;  // empty: not given
  std::string python;   // folder of tq.py; empty: no rows from Python
  bool check = false;
  bool quick = false;
  bool list = false;
};

// Why the program ends without running anything: help that was asked for (code 0), or input that is
// wrong.
struct EarlyExit {
  int code = kExitBadInput;
  std::string text;
};

struct CaseName {
  std::string name;
  std::string summary;
};

tl::expected<Options, EarlyExit> parse_options(const std::vector<std::string>& arguments,
                                               const std::vector<CaseName>& known_cases);

// What `--list` prints.
std::string list_of(const std::vector<CaseName>& cases);

}  // namespace nvs::bench
