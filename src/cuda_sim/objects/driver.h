// SPDX-License-Identifier: Apache-2.0
// Everything the simulated driver knows in this process, behind one lock. It is never destroyed:
// worker threads may still run while the program exits.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cuda_sim/machine/machine.h"
#include "cuda_sim/memory/address_space.h"
#include "cuda_sim/objects/context.h"
#include "cuda_sim/objects/fault_injection.h"
#include "cuda_sim/objects/graph.h"
#include "cuda_sim/objects/handles.h"
#include "cuda_sim/objects/managed_memory.h"
#include "cuda_sim/objects/memory_pool.h"
#include "cuda_sim/objects/module.h"

namespace nvs::sim {

/// Small plain allocations share a block of the GPU's granularity.
struct Slab {
  std::shared_ptr<Physical> physical;
  std::uint64_t begin = 0;
  std::uint64_t context = 0;
  std::map<std::uint64_t, std::uint64_t> used;  // offset to size
};

struct VmmHandle {
  std::shared_ptr<Physical> physical;
  CUmemAllocationProp prop{};
  unsigned references = 1;  // by the program; mappings hold the memory itself
};

/// Its context is made when first retained and keeps its handle for good.
struct PrimaryContext {
  std::shared_ptr<Context> context;
  unsigned references = 0;
  unsigned flags = 0;

  bool active() const { return context && !context->destroyed; }
};

class Driver {
 public:
  std::mutex lock;

  // Written by cuInit, fork and exit alone.
  bool initialised = false;
  bool forked = false;
  bool exiting = false;

  std::unique_ptr<Machine> machine;
  FaultInjection faults;
  int calls_file = -1;  // each call is noted there; below 0: nowhere
  std::array<std::unique_ptr<Arena>, kGpusMax> arenas;
  std::vector<unsigned> visible;  // the machine's GPU behind each device, in their order
  std::array<PrimaryContext, kGpusMax> primaries;
  std::array<CUresult, kGpusMax> lost{};  // GPUs this process cannot use any more, and why
  AddressSpace space;
  std::vector<std::unique_ptr<Slab>> slabs;
  std::map<std::uint64_t, ManagedRange> managed;  // by address

  HandleTable<CUcontext, Context> contexts;
  HandleTable<CUstream, Stream> streams;
  HandleTable<CUevent, Event> events;
  HandleTable<CUmodule, Module> modules;
  HandleTable<CUlibrary, Library> libraries;
  HandleTable<CUfunction, Function> functions;
  HandleTable<CUgraph, Graph> graphs;
  HandleTable<CUgraphNode, GraphNode> nodes;
  HandleTable<CUgraphExec, GraphExec> execs;
  HandleTable<CUmemoryPool, MemoryPool> pools;
  std::array<std::shared_ptr<MemoryPool>, kGpusMax> default_pools;
  std::array<std::shared_ptr<MemoryPool>, kGpusMax> current_pools;  // null: the default one
  std::array<std::shared_ptr<MemoryPool>, kGpusMax> graph_pools;    // for memory nodes
  std::map<CUmemGenericAllocationHandle, VmmHandle> vmm_handles;
  std::vector<std::shared_ptr<Module>> unloaded_modules;     // work in flight may refer to them
  std::vector<std::shared_ptr<Library>> unloaded_libraries;  // likewise
  std::vector<std::shared_ptr<Engine>> stopped_engines;      // likewise
  std::vector<std::shared_ptr<Capture>> captures;
  std::set<std::string> unsupported_named;
  unsigned long long next_id = 1;

  /// Sizes as the program sees them.
  std::uint64_t granularity() const { return (std::uint64_t{2} << 20) / machine->scale(); }
  Arena* arena(unsigned gpu);
  /// Which GPU of the machine a device is, and the other way round: CUDA_VISIBLE_DEVICES.
  std::optional<unsigned> gpu_of(CUdevice device) const;
  CUdevice device_of(unsigned gpu) const;
  /// Modelled time of a call, spent before it returns.
  void spend(double model_ns) const;
  void spend(const Cost& cost, std::uint64_t bytes) const;

  /// CUDA_SUCCESS, or why there is no context on that GPU.
  CUresult make_context(unsigned gpu, unsigned flags, bool primary, std::shared_ptr<Context>& out);
  /// Gives a destroyed primary context a new life under its old handle.
  CUresult revive_context(Context& context, unsigned flags);
  void destroy_context(Context& context);
  /// Takes a capture, whatever became of it, off its streams and events.
  void end_capture(const std::shared_ptr<Capture>& capture);
  std::shared_ptr<Engine> make_engine(Context& context);
  /// What a fault does to the process.
  void poison(Context& context, CUresult result, const std::string& why);

 private:
  CUresult equip(Context& context, unsigned flags);
  void forget_past_life(const Context& context);
};

Driver& driver();

/// The calling thread's stack of current contexts.
std::vector<CUcontext>& context_stack();

/// Whether the calling thread is running a host function or callback, which may not call the
/// driver.
bool& in_host_function();

unsigned long current_thread();

}  // namespace nvs::sim
