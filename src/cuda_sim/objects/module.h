// SPDX-License-Identifier: Apache-2.0
// Loaded code: modules, which belong to a context, and libraries, which do not.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda_api/cuda.h"
#include "cuda_sim/kernels/builtin.h"
#include "cuda_sim/kernels/ptx.h"

namespace nvs::sim {

struct Context;
struct Module;
struct Library;

/// A variable that a program's text defines.
struct GlobalVariable {
  std::string name;
  std::size_t size = 0;
  std::vector<std::byte> initial;  // the rest is zero
};

/// A program as it was read.
struct Code {
  PtxModule ptx;
  std::vector<GlobalVariable> globals;
};

/// Where a module keeps a variable.
struct GlobalPlace {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  std::uint64_t buffer_id = 0;
};

/// What the launch calls of CUDA 3 set one by one.
struct LaunchState {
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  unsigned parameter_bytes = 0;
  std::vector<std::byte> parameters;
};

struct Function {
  CUfunction handle = nullptr;
  Module* module = nullptr;
  Library* library = nullptr;  // set for a CUkernel
  const PtxEntry* entry = nullptr;
  const Builtin* builtin = nullptr;  // null: the simulator cannot run it
  int max_dynamic_shared = 49152;
  int carveout = -1;
  LaunchState launch_state;
};

struct Module {
  CUmodule handle = nullptr;
  Context* context = nullptr;
  Library* library = nullptr;  // set where it holds the code of one
  Code code;
  std::map<std::string, std::shared_ptr<Function>> functions;  // those asked for
  std::map<std::string, GlobalPlace> globals;                  // likewise
};

struct Library {
  CUlibrary handle = nullptr;
  CUresult readable = CUDA_SUCCESS;  // whether its code could be read; told when it is used
  Code code;
  std::map<std::string, std::shared_ptr<Function>> kernels;
  std::map<Context*, std::shared_ptr<Module>> modules;  // its code in each context that used it
};

}  // namespace nvs::sim
