// SPDX-License-Identifier: Apache-2.0
// How a command says that it ends before doing what it is for: with help that was asked for, or
// with what is wrong and what to do about it. The parts of the program return it and only main
// prints it, so that every message a user can meet is a test.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace nvs::cli {

// The exit codes are part of the interface. Those of env(1), because a program's own exit code is
// passed on and a script must be able to tell whose it was.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

struct [[nodiscard]] EarlyExit {
  int code = kExitFailed;
  std::string text;  // one line without its end; help is as many as it takes
};

template <class T>
using Outcome = tl::expected<T, EarlyExit>;

inline tl::unexpected<EarlyExit> failure(std::string text, int code = kExitFailed) {
  return tl::unexpected(EarlyExit{code, std::move(text)});
}

}  // namespace nvs::cli
