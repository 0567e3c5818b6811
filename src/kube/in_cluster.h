// SPDX-License-Identifier: Apache-2.0
// Where the API server is, and who we are to it: as Kubernetes tells its containers by variables
// and by the files of their service account, or as flags say.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "kube/watch_timing.h"

namespace nvs::kube {

inline constexpr const char* kAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

struct Settings {
  std::string api_url;     // "https://10.0.0.1:443", without a slash at its end
  std::string token_path;  // empty: none is sent
  std::string ca_path;     // empty: not needed for http
  std::string node;
  WatchTiming timing;
};

// What the environment says; null where it is not set.
struct Environment {
  const char* host = nullptr;  // KUBERNETES_SERVICE_HOST
  const char* port = nullptr;  // KUBERNETES_SERVICE_PORT
  const char* node = nullptr;  // NODE_NAME
};

// What flags say; empty where they do not. They count more.
struct Flags {
  std::string api_url = {};         // --kube-api
  std::string account_folder = {};  // where the files token and ca.crt are
  std::string node = {};
};

// Else what is wrong, for people. Files are not looked at: they may come later.
tl::expected<Settings, std::string> settings_of(const Flags& flags, const Environment& environment);

}  // namespace nvs::kube
