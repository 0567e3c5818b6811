// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/run.h"

#include <unistd.h>

namespace nvs::conformance {

void Run::begin(std::string_view section, std::string_view step) {
  prefix_ = cat(section, "/", step, ": ");
  seen_.clear();
}

void Run::line(std::string_view key, std::string_view value) {
  std::string unique(key);
  if (const int count = ++seen_[unique]; count > 1) unique += cat(" #", count);
  const std::string text = prefix_ + unique + " -> " + std::string(value) + "\n";
  // One unbuffered write, so that a crash in the next call loses nothing of what came before.
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (n <= 0) ::_exit(4);
    done += static_cast<std::size_t>(n);
  }
}

CUresult Run::record(const char* function, std::string_view label, CUresult result) {
  line(cat(function, "(", label, ")"), result_name(result));
  return result;
}

CUresult Run::need(const char* function, CUresult result) {
  if (result == CUDA_SUCCESS) return result;
  line(cat("step stopped by ", function), result_name(result));
  throw StepStopped{};
}

}  // namespace nvs::conformance
