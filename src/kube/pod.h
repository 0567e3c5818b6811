// SPDX-License-Identifier: Apache-2.0
// A pod as far as it concerns us: who it is, and the annotations that are meant for us. Others',
// and labels, are left with the API server.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace nvs::kube {

inline constexpr std::string_view kAnnotationPrefix = "nvshare.com/";

struct Pod {
  std::string uid;
  std::string space;  // its namespace, a word that C++ has taken
  std::string name;
  std::map<std::string, std::string> annotations;  // with the prefix; see kube/limits.h
  bool operator==(const Pod&) const = default;
};

}  // namespace nvs::kube
