// SPDX-License-Identifier: Apache-2.0
// libcurl, loaded when it is first needed. Programs that run without Kubernetes run where there is
// nothing but glibc, and where libcurl is another distribution's.
#pragma once

#include <curl/curl.h>

#include "base/result.h"

namespace nvs::kube {

// What we call of it, with its own types.
struct CurlLibrary {
#define NVS_CURL_FUNCTION(name) decltype(&::name) name = nullptr;
#include "kube/curl_functions.def"
#undef NVS_CURL_FUNCTION

  // Loaded and initialised once, for all threads; it stays. Error: it is not there, or older than
  // 7.87 (Debian 12 has 7.88).
  static Result<const CurlLibrary*> get();
};

}  // namespace nvs::kube
