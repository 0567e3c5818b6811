// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_request.h"

namespace nvs::kube {
namespace {

std::string pods_of_node(std::string_view node) {
  return "/api/v1/pods?fieldSelector=" + percent_encoded("spec.nodeName=" + std::string(node));
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  static constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char letter : text) {
    if (kPlain.find(letter) != std::string_view::npos) {
      encoded += letter;
      continue;
    }
    const auto code = static_cast<unsigned char>(letter);
    encoded += '%';
    encoded += kDigits[code >> 4U];
    encoded += kDigits[code & 15U];
  }
  return encoded;
}

std::string list_target(std::string_view node, int pods, std::string_view next) {
  std::string target = pods_of_node(node) + "&limit=" + std::to_string(pods);
  if (!next.empty()) target += "&continue=" + percent_encoded(next);
  return target;
}

std::string watch_target(std::string_view node, const ResourceVersion& from, Duration timeout) {
  return pods_of_node(node) +
         "&watch=1&allowWatchBookmarks=true&resourceVersion=" + percent_encoded(from) +
         "&timeoutSeconds=" + std::to_string(timeout.ns() / 1'000'000'000);
}

}  // namespace nvs::kube
