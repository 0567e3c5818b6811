// SPDX-License-Identifier: Apache-2.0
// A pod as far as it concerns us: who it is, and the annotations that are meant for us. Others',
// and labels, are left with the API server.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace nvs::kube {

inline constexpr std::string_view kAnnotationPrefix = "nvshare.com/";
// By which the kubelet marks its pictures of pods from files (Pod::static_uid). The API server lets
// nobody add or change it later.
inline constexpr const char* kMirrorAnnotation = "kubernetes.io/config.mirror";

// 8-4-4-4-12 digits; the kubelet's own, of pods from files, are hashes of 32.
inline bool is_pod_uid(std::string_view text) {
  constexpr std::size_t kUidSize = 36;
  constexpr std::size_t kHashSize = 32;
  if (text.size() != kUidSize && text.size() != kHashSize) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_gap = text.size() == kUidSize && (i == 8 || i == 13 || i == 18 || i == 23);
    const bool is_digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (is_gap ? text[i] != '-' : !is_digit) return false;
  }
  return true;
}

struct Pod {
  std::string uid;
  std::string space;  // its namespace, a word that C++ has taken
  std::string name;
  std::map<std::string, std::string> annotations;  // with the prefix; see kube/limits.h
  // A pod that its node has from a file is run under a uid of the kubelet's own making, or one that
  // the file gives. What the API server has is the kubelet's picture of it, with another uid; this
  // is the real one. Empty for all other pods. Anybody who may create pods can make up a picture of
  // any pod: one whose uid the server itself knows must not be taken for it.
  std::string static_uid = {};
  bool operator==(const Pod&) const = default;
};

}  // namespace nvs::kube
