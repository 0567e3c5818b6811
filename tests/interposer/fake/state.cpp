// SPDX-License-Identifier: Apache-2.0
#include "tests/interposer/fake/state.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace nvs::fake {

State& state() {
  static State& the_state = *new State;
  return the_state;
}

bool is_logged(Row row) {
  const std::string_view symbol = kEntries[index(row)].symbol;
  for (const std::string_view word : {"Get", "Query", "IsCapturing", "DriverVersion"}) {
    if (symbol.find(word) != std::string_view::npos) return false;
  }
  return true;
}

void log_line(std::string_view line) {
  const std::lock_guard lock(state().mutex);
  state().log.append(line).append("\n");
}

}  // namespace nvs::fake

using nvs::fake::state;

void fake_set_mode(FakeMode mode) { state().mode.store(mode); }

unsigned long fake_calls(unsigned row) { return state().notes.at(row).calls.load(); }

std::uint64_t fake_hash(unsigned row) { return state().notes.at(row).hash.load(); }

void fake_on_launch(void (*action)(void*), void* argument) {
  state().action_argument.store(argument);
  state().action.store(action);
}

int fake_inside(void) { return state().inside.load(); }

unsigned fake_launches(void) {
  const std::lock_guard lock(state().mutex);
  return static_cast<unsigned>(state().launched.size());
}

unsigned fake_launched(unsigned number) {
  const std::lock_guard lock(state().mutex);
  return state().launched.at(number);
}

std::size_t fake_log(char* buffer, std::size_t size) {
  const std::lock_guard lock(state().mutex);
  const std::string& log = state().log;
  std::memcpy(buffer, log.data(), std::min(size, log.size()));
  return log.size();
}
