// SPDX-License-Identifier: Apache-2.0
// One way for a function to say that what it was asked for did not happen: a value or an Error,
// with no exceptions and no allocation, so that the same code serves the interposer and the
// programs.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include <string.h>
#include <tl/expected.hpp>

namespace nvs {

enum class Errc {
  kSystem,        // a system call failed; Error::sys holds errno
  kInvalidInput,  // what came from outside (wire, environment, file) is out of contract
  kNotFound,      // the thing that was named does not exist
  kLimit,         // a named maximum is reached
};

// The text is a literal that names the operation: an Error costs nothing to make or to copy.
struct [[nodiscard]] Error {
  Errc code;
  int sys;
  const char* what;

  static Error from_errno(int sys, const char* what) { return {Errc::kSystem, sys, what}; }

  std::string message() const {
    char buffer[128];
    return sys == 0 ? std::string(what)
                    : std::string(what) + ": " + ::strerror_r(sys, buffer, sizeof buffer);
  }
};

template <class T>
using Result = tl::expected<T, Error>;

namespace detail {

// The value of a good result; for a result without one, nothing. NVS_TRY is an expression in both
// cases.
template <class T, class E>
T take(tl::expected<T, E>&& result) {
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace detail
}  // namespace nvs

// The value of a result, or return from the calling function with its error.
#define NVS_TRY(expr)                             \
  __extension__({                                 \
    auto nvs_result_ = (expr);                    \
    if (!nvs_result_) [[unlikely]]                \
      return tl::unexpected(nvs_result_.error()); \
    ::nvs::detail::take(std::move(nvs_result_));  \
  })
