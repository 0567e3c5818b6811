// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/objects/fault_injection.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <vector>

#include <sys/prctl.h>

namespace nvs::sim {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <class Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool is_entry_point(std::string_view function) {
#define NVS_CUDA_ENTRY(symbol, name, since, streams) \
  if (function == #symbol) return true;
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
  return false;
}

bool parse_result(std::string_view text, int& result) {
  if (text == "kill" || text == "stop") {
    result = text == "kill" ? -SIGKILL : -SIGSTOP;
    return true;
  }
  return parse_number(text, result) && result >= 0;
}

}  // namespace

bool is_caller(std::string_view text) {
  const std::size_t at = text.find('@');
  return is_entry_point(text.substr(0, at)) &&
         (at == std::string_view::npos || at + 1 < text.size());
}

std::string thread_name() {
  char name[16] = {};
  return ::prctl(PR_GET_NAME, name) == 0 ? name : "";
}

void FaultInjection::fail_call(const std::string& function, unsigned after, unsigned times,
                               int result) {
  calls_[function] = {after, times, result};
}

bool FaultInjection::parse(std::string_view text) {
  if (text.empty()) return true;
  for (const std::string_view item : split(text, ',')) {
    const auto parts = split(item, ':');
    Plan plan;
    if (parts.size() != 4 || !is_caller(parts[0]) || !parse_number(parts[1], plan.after) ||
        !parse_number(parts[2], plan.times) || plan.times == 0 ||
        !parse_result(parts[3], plan.result)) {
      return false;
    }
    calls_[std::string(parts[0])] = plan;
  }
  return true;
}

std::optional<int> FaultInjection::next_result(std::string_view function, std::string_view thread) {
  auto it = calls_.find(std::string(function).append("@").append(thread));
  if (it == calls_.end()) it = calls_.find(function);
  if (it == calls_.end()) return std::nullopt;
  Plan& plan = it->second;
  if (plan.after > 0) {
    --plan.after;
    return std::nullopt;
  }
  const int result = plan.result;
  if (plan.times <= 1) {
    calls_.erase(it);
  } else {
    --plan.times;
  }
  return result;
}

bool FaultInjection::take(std::string& armed, std::string_view kernel) {
  if (armed.empty() || (armed != "*" && armed != kernel)) return false;
  armed.clear();
  return true;
}

}  // namespace nvs::sim
