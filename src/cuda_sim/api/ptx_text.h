// SPDX-License-Identifier: Apache-2.0
// What the driver looks at in PTX text beyond the kernels' names: whether it is for this driver and
// this GPU, whether it is made of instructions, and the variables it defines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cuda_api/cuda.h"
#include "cuda_sim/config/model.h"
#include "cuda_sim/objects/module.h"

namespace nvs::sim {

/// PTX without comments, the bodies of its functions apart.
struct PtxText {
  std::string outside;
  std::vector<std::string> bodies;
};

PtxText split_ptx(std::string_view text);

/// CUDA_SUCCESS, or why the compiler would refuse it, in words too.
CUresult check_ptx(const PtxText& ptx, const Model& model, std::string& message);

std::vector<GlobalVariable> parse_globals(const PtxText& ptx);

}  // namespace nvs::sim
