// SPDX-License-Identifier: Apache-2.0
// What the user may tell the library: environment variables, read once when a driver is first met
// and not before, by hand, because getenv may be intercepted or another thread may change them.
#pragma once

namespace nvs::interposer {

struct Settings {
  bool disabled = false;             // NVSHARE_DISABLE
  bool debug = false;                // NVSHARE_DEBUG
  bool oversubscribe = false;        // NVSHARE_ENABLE_SINGLE_OVERSUB
  const char* debug_file = nullptr;  // NVSHARE_DEBUG_FILE; null or empty: a file of our choice
  const char* folder = nullptr;    // NVSHARE_FOLDER: that of the daemon; null or empty: the node's
  const char* run = nullptr;       // NVSHARE_RUN: set by `nvshare run` for all that it starts
  const char* priority = nullptr;  // NVSHARE_PRIORITY: low, normal or high
  const char* pod = nullptr;       // NVSHARE_POD_NAME
  const char* pod_namespace = nullptr;  // NVSHARE_POD_NAMESPACE
  const char* memory_limit = nullptr;   // NVSHARE_GPU_MEMORY_LIMIT, as it is written
  const char* core_limit = nullptr;     // NVSHARE_GPU_CORE_LIMIT
  const char* slot = nullptr;           // NVSHARE_SLOT: parts of GPUs, by the device plugin
  // NVSHARE_LIMITS_OF_RUN: which of them are options of `nvshare run`.
  bool memory_of_run = false;
  bool cores_of_run = false;
};

// Unset, empty and "0" mean no where the answer is yes or no; anything else means yes.
Settings read_settings(const char* const* environment);

}  // namespace nvs::interposer
