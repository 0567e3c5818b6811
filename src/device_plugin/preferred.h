// SPDX-License-Identifier: Apache-2.0
// Which free devices a container should get: of different GPUs where it asks for several, of the
// GPU with the fewest pods, of those the one with the least memory promised, and then the one with
// the least to do. Or, packed, of the GPU with the most pods.
#pragma once

#include <string>
#include <vector>

#include "device_plugin/config.h"
#include "device_plugin/inventory.h"

namespace nvs::plugin {

struct PreferredRequest {
  std::vector<std::string> available;
  std::vector<std::string> must_include;
  unsigned size = 0;
};

// What is known of each GPU of the inventory.
struct GpuUse {
  unsigned pods = 0;
  double promised = 0;  // of its memory, to containers that asked for some: 1 is all of it
  double load = 0;      // 0 to 1, by the daemon
};

// As many as were asked for, if there are so many; the error is a sentence about the request.
Parsed<std::vector<std::string>> prefer(const PreferredRequest& request,
                                        const OfferedResource& resource,
                                        const std::vector<GpuUse>& gpus, Spread spread);

}  // namespace nvs::plugin
