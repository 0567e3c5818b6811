// SPDX-License-Identifier: Apache-2.0
// The simulator claims to answer as the real driver does. A Run is what a step of the conformance
// program writes its evidence to: one line a call, `section/step: function(what is special) ->
// result`, in words that must be equal on both. Whatever differs from machine to machine
// (addresses, times, free memory) is shown as a relation instead.
#pragma once

#include <bit>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cuda_api/cuda.h"
#include "cuda_api/driver.h"

namespace nvs::conformance {

// A value of an enum of the driver's that need not be one of its constants.
template <class Enum>
constexpr Enum as_enum(int number) {
  return std::bit_cast<Enum>(number);
}

// What a call is said to have returned when the driver does not export the function at all.
inline constexpr CUresult kMissingSymbol = as_enum<CUresult>(1023);

std::string result_name(CUresult result);

// The text of a value in the transcript: truth as yes or no, numbers in decimal, results by name.
template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "yes" : "no";
  } else if constexpr (std::is_same_v<T, CUresult>) {
    return result_name(value);
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else {
    return std::string(value);
  }
}

// Builds a label from pieces: cat("flags ", 3).
template <class... Parts>
std::string cat(const Parts&... parts) {
  return (std::string{} + ... + text_of(parts));
}

// Thrown when what a step builds on could not be set up; the rest of that step is left out.
struct StepStopped {};

class Run {
 public:
  Run(const Driver& driver, std::string self, std::string argument)
      : driver_(driver), self_(std::move(self)), argument_(std::move(argument)) {}

  const Driver& driver() const { return driver_; }
  // The path of this program, for steps that need a second process.
  const std::string& self() const { return self_; }
  // What the parent handed to a hidden step.
  const std::string& argument() const { return argument_; }

  void begin(std::string_view section, std::string_view step);
  CUresult record(const char* function, std::string_view label, CUresult result);
  CUresult need(const char* function, CUresult result);

  template <class T>
  void show(std::string_view what, const T& value) {
    line(what, text_of(value));
  }
  void line(std::string_view key, std::string_view value);

 private:
  const Driver& driver_;
  std::string self_;
  std::string argument_;
  std::string prefix_;
  std::map<std::string, int, std::less<>>
      seen_;  // keys of this step, so that each line's is unique
};

enum class Start {
  kNothing,  // not even cuInit
  kInit,     // cuInit(0) has been called
  kContext,  // the primary context of device 0 is retained and current
};

enum class Process {
  kShared,  // runs after the section's other shared steps, in one process
  kOwn,     // leaves its process in a state that no other step can use
  kHidden,  // runs only when another step starts it
};

struct Step {
  const char* name;
  void (*body)(Run&);
  Process process = Process::kShared;
};

struct Section {
  const char* name;
  Start start;
  std::vector<Step> steps;
};

// Every section, in the order of the transcript.
std::vector<Section> all_sections();

}  // namespace nvs::conformance

// Calls a function of the driver that the variable `run` holds and writes the line; its value is
// the CUresult.
#define CALL(label, function, ...)                                                 \
  run.record(#function, label,                                                     \
             run.driver().function == nullptr ? ::nvs::conformance::kMissingSymbol \
                                              : run.driver().function(__VA_ARGS__))

// The same for what a step builds on: silent when it succeeds, and the end of the step when it does
// not.
#define SETUP(function, ...)                                                                \
  run.need(#function, run.driver().function == nullptr ? ::nvs::conformance::kMissingSymbol \
                                                       : run.driver().function(__VA_ARGS__))
