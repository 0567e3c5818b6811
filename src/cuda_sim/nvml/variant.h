// SPDX-License-Identifier: Apache-2.0
// Which driver this NVML comes with. One set of sources makes several libraries, old ones among
// them; they differ in what they export and in these figures.
#pragma once

namespace nvs::nvml {

struct Variant {
  const char* driver_version;
  const char* nvml_version;
  int cuda_version;
};

extern const Variant kVariant;

}  // namespace nvs::nvml
