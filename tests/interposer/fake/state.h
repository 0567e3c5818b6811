// SPDX-License-Identifier: Apache-2.0
// What all functions of the fake driver share: the mode, the notes of who was called with what, and
// the log.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/interposer/fake/fake_api.h"
#include "tests/interposer/fake/rows.h"

namespace nvs::fake {

struct Note {
  std::atomic<unsigned long> calls{0};
  std::atomic<std::uint64_t> hash{0};
};

struct State {
  std::atomic<FakeMode> mode{kFakeWorks};
  std::array<Note, kEntries.size()> notes;
  std::atomic<void (*)(void*)> action{nullptr};
  std::atomic<void*> action_argument{nullptr};
  std::atomic<int> inside{0};
  std::mutex mutex;
  std::vector<unsigned> launched;  // under mutex
  std::string log;                 // under mutex
};

/// Never destroyed: threads and exit handlers of the program call the driver to the very end.
State& state();

/// Calls that only ask are not logged: whoever stands in between may ask as well.
bool is_logged(Row row);
void log_line(std::string_view line);

/// Counts the calling thread as inside of a submission. A thread that unwinds is outside again.
class Inside {
 public:
  Inside() { state().inside.fetch_add(1); }
  ~Inside() { state().inside.fetch_sub(1); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// A plain argument as text; addresses of the program's memory differ from run to run.
template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_class_v<T>) {
    return "struct";
  } else {
    return value == T{} ? "null" : "*";
  }
}

}  // namespace nvs::fake
