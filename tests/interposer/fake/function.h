// SPDX-License-Identifier: Apache-2.0
// Makes an entry point of the fake driver from its row and its type: it notes the call and does
// what the mode says.
#pragma once

#include <bit>

#include "cuda_api/cuda.h"
#include "tests/interposer/fake/arguments.h"
#include "tests/interposer/fake/behaviour.h"
#include "tests/interposer/fake/rows.h"
#include "tests/interposer/fake/state.h"

namespace nvs::fake {

template <class T>
void fill_result([[maybe_unused]] T parameter, [[maybe_unused]] Row row,
                 [[maybe_unused]] unsigned position) {
  if constexpr (kIsResult<T>) {
    using Value = std::remove_pointer_t<T>;
    if (parameter != nullptr) *parameter = result_value<Value>(index(row), position);
  }
}

template <class T>
inline constexpr bool kIsHandle = false;
template <class T>
inline constexpr bool kIsHandle<T*> = std::is_same_v<T, CUdeviceptr> ||
                                      (std::is_pointer_v<T> && !kIsMemory<T> &&
                                       !std::is_const_v<T>);

// Questions take no fresh numbers, because others may ask in between.
template <class First, class... Rest>
void hand_out([[maybe_unused]] Row row, [[maybe_unused]] First first, Rest...) {
  if constexpr (kIsHandle<First>) {
    if (first == nullptr) return;
    const std::uint64_t number =
        is_logged(row) ? fresh_number() : result_value<CUdeviceptr>(index(row), 0);
    std::memcpy(first, &number, sizeof number);
  }
}

template <Row R, class... Arguments>
CUresult work(Arguments... arguments) {
  if constexpr (requires { Act<R>::act(arguments...); }) {
    return Act<R>::act(arguments...);
  } else {
    if constexpr (sizeof...(Arguments) > 0) hand_out(R, arguments...);
    return CUDA_SUCCESS;
  }
}

template <Row R, class Type>
struct Function;

template <Row R, class... Arguments>
struct Function<R, CUresult(Arguments...)> {
  static CUresult call(Arguments... arguments) {
    Note& note = state().notes[index(R)];
    note.hash.store(hash_of(arguments...));
    note.calls.fetch_add(1);
    // Looking up must work in every mode, or there would be nothing to call.
    const bool is_lookup = R == Row::cuGetProcAddress || R == Row::cuGetProcAddress_v2;
    const FakeMode mode = is_lookup ? kFakeWorks : state().mode.load();
    if (mode == kFakeFails) return std::bit_cast<CUresult>(10'000 + index(R));
    if (mode == kFakeSucceeds) {
      [[maybe_unused]] unsigned position = 0;
      (fill_result(arguments, R, position++), ...);
      return CUDA_SUCCESS;
    }
    const CUresult result = work<R>(arguments...);
    if (is_logged(R)) write_log(result, arguments...);
    return result;
  }

 private:
  static void write_log(CUresult result, const Arguments&... arguments) {
    std::string line = kEntries[index(R)].symbol;
    ((line += " " + text_of(arguments)), ...);
    log_line(line + " = " + std::to_string(result));
  }
};

}  // namespace nvs::fake
