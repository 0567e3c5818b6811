// SPDX-License-Identifier: Apache-2.0
// One benchmark: a name, a line about itself, and what it measures. A new case is one file in
// cases/ and one line in cases.cpp; the command line, the machine, the table and the verdicts come
// from here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/options.h"
#include "bench/report.h"

namespace nvs::bench {

struct Bench {
  const Machine& machine;
  bool quick;
  std::string library;  // libnvshare.so as the command line names it; empty: the one built with us
  std::string python;   // folder of tq.py; empty: no rows from Python
  Report& report;
  std::int64_t begun_ns;  // when the case began, as of now_ns
};

class Case {
 public:
  virtual ~Case() = default;
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  // The simulated machine, unless the command line says: which GPU, and how many.
  virtual std::string preset() const { return "h200"; }
  virtual unsigned gpus() const { return 1; }
  // How much longer than on the card everything takes on the simulator, unless the command line
  // says. A case of many processes is late with 1 where there are two processors.
  virtual double time_factor() const { return 1; }
  // Throws Failure if something cannot be measured at all. Must end within kCaseSeconds.
  virtual void run(const Bench& bench) const = 0;
};

// A case that has not ended by then is ended by the program.
inline constexpr unsigned kCaseSeconds = 900;
// After half of that nothing is measured again for lateness: a case that takes as long without any
// second try as half of its time then ends with rows, if with invalid ones.
inline constexpr unsigned kSecondTrySeconds = kCaseSeconds / 2;

const std::vector<const Case*>& all_cases();
const Case* find_case(const std::string& name);
std::vector<CaseName> case_names();

}  // namespace nvs::bench
