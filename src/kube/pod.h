// SPDX-License-Identifier: Apache-2.0
// A pod as far as it concerns us: who it is, and the annotations that are meant for us. Others',
// and labels, are left with the API server.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace nvs::kube {

inline constexpr std::string_view kAnnotationPrefix = "nvshare.com/";
// By which the kubelet marks its pictures of pods from files (Pod::static_uid). The API server lets
// nobody add or change it later.
inline constexpr const char* kMirrorAnnotation = "kubernetes.io/config.mirror";

struct Pod {
  std::string uid;
  std::string space;  // its namespace, a word that C++ has taken
  std::string name;
  std::map<std::string, std::string> annotations;  // with the prefix; see kube/limits.h
  // A pod that its node has from a file is run under a uid of the kubelet's own making. What the
  // API server has is the kubelet's picture of it, with another uid; this is the real one. Empty
  // for all other pods.
  std::string static_uid = {};
  bool operator==(const Pod&) const = default;
};

}  // namespace nvs::kube
