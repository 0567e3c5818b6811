// SPDX-License-Identifier: Apache-2.0
#include "kube/curl_library.h"

#include <dlfcn.h>

namespace nvs::kube {
namespace {

Error curl_error(const char* what) { return {Errc::kNotFound, 0, what}; }

Result<CurlLibrary> load_curl() {
  // It is never unloaded: a thread of its own may still look up a name.
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    return tl::unexpected(curl_error("libcurl.so.4 cannot be loaded; is libcurl4 installed?"));
  }
  CurlLibrary curl;
#define NVS_CURL_FUNCTION(name)                                             \
  curl.name = reinterpret_cast<decltype(curl.name)>(dlsym(library, #name)); \
  if (curl.name == nullptr) return tl::unexpected(curl_error("libcurl.so.4 has no " #name));
#include "kube/curl_functions.def"
#undef NVS_CURL_FUNCTION
  if (curl.curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK) {
    return tl::unexpected(curl_error("libcurl cannot be initialised"));
  }
  if (curl.curl_version_info(CURLVERSION_NOW)->version_num < 0x075700) {
    return tl::unexpected(curl_error("libcurl.so.4 is older than 7.87"));
  }
  return curl;
}

}  // namespace

Result<const CurlLibrary*> CurlLibrary::get() {
  static const Result<CurlLibrary> kLibrary = load_curl();
  if (!kLibrary) return tl::unexpected(kLibrary.error());
  return &*kLibrary;
}

}  // namespace nvs::kube
