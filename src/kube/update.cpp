// SPDX-License-Identifier: Apache-2.0
#include "kube/update.h"

namespace nvs::kube {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, kReasons> kReasonWords = {
    "closed",  "expired", "unauthorized", "forbidden", "throttled", "refused",
    "garbage", "connect", "tls",          "timeout",   "cut",       "credentials"};

}  // namespace

std::string_view reason_word(Reason reason) {
  return kReasonWords.at(static_cast<std::size_t>(reason));
}

}  // namespace nvs::kube
