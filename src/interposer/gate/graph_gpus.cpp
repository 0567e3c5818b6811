// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/graph_gpus.h"

#include "interposer/exports/real.h"
#include "interposer/gate/call_target.h"
#include "interposer/gate/named_memory.h"
#include "interposer/memory/slot_table.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/memory.h"
#include "interposer/session/session.h"
#include "os/futex_lock.h"

namespace nvs::interposer::gate {
namespace {

// Graphs in graphs: deeper ones are taken to work anywhere.
constexpr int kDepthMax = 16;

struct ExecPlace {
  CUgraphExec exec;
  std::uint32_t gpus;

  bool used() const { return exec != nullptr; }
  std::uint64_t hash() const { return memory::spread(reinterpret_cast<std::uint64_t>(exec)); }
  bool same_key(const ExecPlace& other) const { return exec == other.exec; }
};

constinit os::FutexLock lock;  // guards the table
constinit memory::SlotTable<ExecPlace> places;

// All nodes of a graph, in pages of its own.
class Nodes {
 public:
  explicit Nodes(CUgraph graph) {
    const auto list = real<Row::cuGraphGetNodes>();
    if (list == nullptr || list(graph, nullptr, &count_) != CUDA_SUCCESS) return;
    bytes_ = count_ * sizeof(CUgraphNode);
    if (count_ != 0) nodes_ = static_cast<CUgraphNode*>(os::map_pages(bytes_));
    is_known_ = count_ == 0 || (nodes_ != nullptr && list(graph, nodes_, &count_) == CUDA_SUCCESS);
  }
  ~Nodes() {
    if (nodes_ != nullptr) os::unmap_pages(nodes_, bytes_);
  }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  bool is_known() const { return is_known_; }
  const CUgraphNode* begin() const { return nodes_; }
  const CUgraphNode* end() const { return nodes_ + count_; }

 private:
  CUgraphNode* nodes_ = nullptr;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  bool is_known_ = false;
};

template <Row row, class Params>
bool read(CUgraphNode node, Params& params) {
  const auto ask = real<row>();
  return ask != nullptr && ask(node, &params) == CUDA_SUCCESS;
}

std::uint32_t gpus_of_kernel(CUgraphNode node) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  if (!read<Row::cuGraphKernelNodeGetParams_v2>(node, kernel)) return kAllGpus;
  const int gpu = kernel.ctx != nullptr ? gpu_of(kernel.ctx) : -1;
  return gpu >= 0 ? 1U << gpu : kAllGpus;
}

// Of memory that does not move the driver is asked: what is done with it is work there too, and an
// update may put memory that moves in its place.
std::uint32_t gpu_of_memory(CUdeviceptr address) {
  const std::uint32_t owner = owner_of(address);
  const auto ask = real<Row::cuPointerGetAttribute>();
  if (owner != 0 || ask == nullptr) return owner;
  unsigned type = 0;
  int gpu = -1;
  const bool is_device = ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS &&
                         type == CU_MEMORYTYPE_DEVICE &&
                         ask(&gpu, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS;
  return is_device && gpu >= 0 && gpu < kGpusMax ? 1U << gpu : 0;
}

std::uint32_t gpus_of_copy(CUgraphNode node) {
  CUDA_MEMCPY3D copy{};
  if (!read<Row::cuGraphMemcpyNodeGetParams>(node, copy)) return kAllGpus;
  const auto side = [](CUmemorytype type, CUdeviceptr address) {
    const bool is_address = type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
    return is_address ? gpu_of_memory(address) : 0U;
  };
  return side(copy.srcMemoryType, copy.srcDevice) | side(copy.dstMemoryType, copy.dstDevice);
}

std::uint32_t gpus_in(CUgraph graph, int depth);

std::uint32_t gpus_of_node(CUgraphNode node, int depth) {
  CUgraphNodeType type{};
  if (!read<Row::cuGraphNodeGetType>(node, type)) return kAllGpus;
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return gpus_of_kernel(node);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return gpus_of_copy(node);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS fill{};
      return read<Row::cuGraphMemsetNodeGetParams>(node, fill) ? gpu_of_memory(fill.dst) : kAllGpus;
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      CUgraph child = nullptr;
      return read<Row::cuGraphChildGraphNodeGetGraph>(node, child) ? gpus_in(child, depth + 1)
                                                                   : kAllGpus;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return 0;
    default:
      return kAllGpus;
  }
}

std::uint32_t gpus_in(CUgraph graph, int depth) {
  const Nodes nodes(graph);
  if (!nodes.is_known() || depth > kDepthMax) return kAllGpus;
  std::uint32_t gpus = 0;
  for (const CUgraphNode node : nodes) {
    gpus |= gpus_of_node(node, depth);
    if (gpus == kAllGpus) break;
  }
  return gpus;
}

}  // namespace

// Without a daemon nobody asks. With one GPU there is nothing to look at, but another may come.
void graph_instantiated(CUgraph graph, CUgraphExec exec) {
  if (!session::has_any_daemon()) return;
  const libc::NoCancel no_cancel;
  const int only = session::only_gpu();
  const ExecPlace made{exec, only >= 0 ? 1U << only : gpus_in(graph, 0)};
  const os::FutexGuard guard(lock);
  if (ExecPlace* const known = places.find(made)) {
    *known = made;
  } else {
    places.insert(made, &os::map_pages);
  }
}

void graph_ends(CUgraphExec exec) {
  if (!session::has_any_daemon()) return;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  if (ExecPlace* const known = places.find({exec, 0})) places.erase(known);
}

std::uint32_t gpus_of_graph(CUgraphExec exec) {
  const os::FutexGuard guard(lock);
  const ExecPlace* const known = places.find({exec, 0});
  return known != nullptr ? known->gpus : kAllGpus;
}

void forget_graphs_in_child() {
  lock.reset();
  places.forget();
}

}  // namespace nvs::interposer::gate
