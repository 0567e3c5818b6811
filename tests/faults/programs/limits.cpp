// SPDX-License-Identifier: Apache-2.0
// A tenant that allocates and frees in every way, word by word as the test says.
#include <csignal>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include "cuda_api/nvml.h"
#include "tests/faults/programs/kit.h"
#include "tests/faults/programs/passing.h"

namespace nvs::faults {
namespace {

// What was made, and how it is made to go.
struct Piece {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  std::size_t bytes = 0;
  bool is_opened = false;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
};

constexpr int kElsewhere = 1;

using Make = CUresult (*)(const Gpu& gpu, std::size_t bytes, Piece& piece);

CUresult from_pool(const Gpu& gpu, std::size_t bytes, Piece& piece) {
  CUmemoryPool pool = nullptr;
  NVS_MUST(gpu->cuDeviceGetMemPool(&pool, gpu.device()));
  return gpu->cuMemAllocFromPoolAsync(&piece.address, bytes, pool, nullptr);
}

// On a GPU that the process has no context on.
CUmemoryPool pool_elsewhere(const Gpu& gpu) {
  static CUmemoryPool pool = nullptr;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, kElsewhere};
  if (pool == nullptr) NVS_MUST(gpu->cuMemPoolCreate(&pool, &props));
  return pool;
}
CUresult from_elsewhere(const Gpu& gpu, std::size_t bytes, Piece& piece) {
  return gpu->cuMemAllocFromPoolAsync(&piece.address, bytes, pool_elsewhere(gpu), nullptr);
}

// Compressible memory is never moved.
CUresult create_native(const Gpu& gpu, std::size_t bytes, Piece& piece) {
  CUmemAllocationProp prop = sim_test::vmm_prop(gpu.device());
  prop.allocFlags.compressionType = 1;
  return gpu->cuMemCreate(&piece.handle, bytes, &prop, 0);
}

// Rows of 1000 bytes.
CUresult pitched(const Gpu& gpu, std::size_t bytes, Piece& piece) {
  constexpr std::size_t kWidth = 1000;
  std::size_t pitch = 0;
  return gpu->cuMemAllocPitch_v2(&piece.address, &pitch, kWidth, bytes / kWidth, 4);
}

// A node of the piece's graph after another one.
CUresult add_node(const Gpu& gpu, std::size_t bytes, const std::vector<CUgraphNode>& after,
                  CUgraphNode& node, Piece& piece) {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu.device()};
  params.bytesize = bytes;
  const CUresult result =
      gpu->cuGraphAddMemAllocNode(&node, piece.graph, after.data(), after.size(), &params);
  piece.address = params.dptr;
  return result;
}

// What is asked for when a graph is launched is what counted before.
CUresult launch(const Gpu& gpu, CUresult added, Piece& piece) {
  if (added == CUDA_SUCCESS) {
    NVS_MUST(gpu->cuGraphInstantiateWithFlags(&piece.exec, piece.graph, 0));
    NVS_MUST(gpu->cuGraphLaunch(piece.exec, nullptr));
    NVS_MUST(gpu->cuCtxSynchronize());
  } else {
    NVS_MUST(gpu->cuGraphDestroy(piece.graph));
  }
  return added;
}

// As alone it costs nothing, as long as it is not launched.
CUresult in_idle_graph(const Gpu& gpu, std::size_t bytes, Piece& piece) {
  CUgraphNode node = nullptr;
  NVS_MUST(gpu->cuGraphCreate(&piece.graph, 0));
  const CUresult result = add_node(gpu, bytes, {}, node, piece);
  piece.address = 0;
  if (result == CUDA_SUCCESS) {
    NVS_MUST(gpu->cuGraphInstantiateWithFlags(&piece.exec, piece.graph, 0));
  }
  return result;
}

CUresult in_graph(const Gpu& gpu, std::size_t bytes, Piece& piece) {
  CUgraphNode node = nullptr;
  NVS_MUST(gpu->cuGraphCreate(&piece.graph, 0));
  return launch(gpu, add_node(gpu, bytes, {}, node, piece), piece);
}

// One after the other: the second has the address of the first.
CUresult in_graph_twice(const Gpu& gpu, std::size_t bytes, Piece& piece) {
  CUgraphNode node = nullptr;
  CUgraphNode freed = nullptr;
  NVS_MUST(gpu->cuGraphCreate(&piece.graph, 0));
  CUresult result = add_node(gpu, bytes, {}, node, piece);
  if (result == CUDA_SUCCESS) {
    NVS_MUST(gpu->cuGraphAddMemFreeNode(&freed, piece.graph, &node, 1, piece.address));
    result = add_node(gpu, bytes, {freed}, node, piece);
  }
  return launch(gpu, result, piece);
}

// Nothing is left of it.
CUresult in_graph_that_frees(const Gpu& gpu, std::size_t bytes, Piece& piece) {
  CUgraphNode node = nullptr;
  CUgraphNode freed = nullptr;
  NVS_MUST(gpu->cuGraphCreate(&piece.graph, 0));
  const CUresult result = add_node(gpu, bytes, {}, node, piece);
  const CUdeviceptr address = std::exchange(piece.address, 0);
  if (result == CUDA_SUCCESS) {
    NVS_MUST(gpu->cuGraphAddMemFreeNode(&freed, piece.graph, &node, 1, address));
  }
  return launch(gpu, result, piece);
}

CUresult in_capture(const Gpu& gpu, std::size_t bytes, Piece& piece) {
  const CUstream stream = gpu.stream();
  NVS_MUST(gpu->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  const CUresult result = gpu->cuMemAllocAsync(&piece.address, bytes, stream);
  NVS_MUST(gpu->cuStreamEndCapture(stream, &piece.graph));
  NVS_MUST(gpu->cuStreamDestroy_v2(stream));
  return launch(gpu, result, piece);
}

void drop_graph(const Gpu& gpu, Piece& piece) {
  if (piece.graph == nullptr) return;
  NVS_MUST(gpu->cuGraphExecDestroy(piece.exec));
  NVS_MUST(gpu->cuGraphDestroy(piece.graph));
  piece.graph = nullptr;
}

// Only the memory is left.
CUresult left_by_graph(const Gpu& gpu, std::size_t bytes, Piece& piece) {
  const CUresult result = in_graph(gpu, bytes, piece);
  if (result == CUDA_SUCCESS) drop_graph(gpu, piece);
  return result;
}

const std::map<std::string, Make> kWays = {
    {"plain", [](const Gpu& gpu, std::size_t bytes,
                 Piece& piece) { return gpu->cuMemAlloc_v2(&piece.address, bytes); }},
    {"pitched", pitched},
    {"managed",
     [](const Gpu& gpu, std::size_t bytes, Piece& piece) {
       return gpu->cuMemAllocManaged(&piece.address, bytes, CU_MEM_ATTACH_GLOBAL);
     }},
    {"async", [](const Gpu& gpu, std::size_t bytes,
                 Piece& piece) { return gpu->cuMemAllocAsync(&piece.address, bytes, nullptr); }},
    {"pool", from_pool},
    {"elsewhere", from_elsewhere},
    {"created",
     [](const Gpu& gpu, std::size_t bytes, Piece& piece) {
       const CUmemAllocationProp prop = sim_test::vmm_prop(gpu.device());
       return gpu->cuMemCreate(&piece.handle, bytes, &prop, 0);
     }},
    {"native", create_native},
    {"graph", in_graph},
    {"graph_twice", in_graph_twice},
    {"idle_graph", in_idle_graph},
    {"graph_freed", in_graph_that_frees},
    {"capture", in_capture},
    {"left", left_by_graph},
    {"shareable",
     [](const Gpu& gpu, std::size_t bytes, Piece& piece) {
       CUmemAllocationProp prop = sim_test::vmm_prop(gpu.device());
       prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
       return gpu->cuMemCreate(&piece.handle, bytes, &prop, 0);
     }},
};

class Holdings {
 public:
  explicit Holdings(const Gpu& gpu) : gpu_(gpu) {}

  CUresult take(const std::string& way, std::size_t bytes) {
    Piece piece;
    piece.bytes = bytes;
    const CUresult result = kWays.at(way)(gpu_, bytes, piece);
    if (result == CUDA_SUCCESS) pieces_.push_back(piece);
    return result;
  }
  void give_last() {
    Piece piece = pieces_.back();
    pieces_.pop_back();
    drop_graph(gpu_, piece);
    if (piece.handle != 0) {
      NVS_MUST(gpu_->cuMemRelease(piece.handle));
    } else if (piece.is_opened) {
      NVS_MUST(gpu_->cuIpcCloseMemHandle(piece.address));
    } else if (piece.address != 0) {
      NVS_MUST(gpu_->cuMemFree_v2(piece.address));
    }
  }
  // The last one, to other processes: by a handle, or a descriptor to whoever waits for it.
  std::string share_last() const {
    CUipcMemHandle handle{};
    NVS_MUST(gpu_->cuIpcGetMemHandle(&handle, pieces_.back().address));
    return text_of(handle);
  }
  void send_last(const std::string& name) const {
    int file = -1;
    NVS_MUST(gpu_->cuMemExportToShareableHandle(&file, pieces_.back().handle,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_file(name, file);
    ::close(file);
  }
  CUresult open(const std::string& text) {
    Piece piece;
    piece.is_opened = true;
    const CUresult result = gpu_->cuIpcOpenMemHandle_v2(&piece.address, handle_of(text),
                                                        CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (result == CUDA_SUCCESS) pieces_.push_back(piece);
    return result;
  }
  CUresult receive(const std::string& name) {
    Piece piece;
    const int file = receive_file(name, [] { say("waiting"); });
    const CUresult result = gpu_->cuMemImportFromShareableHandle(
        &piece.handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    ::close(file);
    if (result == CUDA_SUCCESS) pieces_.push_back(piece);
    return result;
  }
  // Where there is an address: it has to be on the GPU for that.
  void write_all() const {
    for (const Piece& piece : pieces_) {
      if (piece.address != 0) NVS_MUST(gpu_->cuMemsetD8_v2(piece.address, 7, piece.bytes));
    }
    NVS_MUST(gpu_->cuCtxSynchronize());
  }
  void give_all() {
    while (!pieces_.empty()) give_last();
  }

 private:
  const Gpu& gpu_;
  std::vector<Piece> pieces_;
};

// As monitoring tools ask for it.
nvmlMemory_t ask_nvml(const char* library, unsigned index = 0) {
  void* const nvml = ::dlopen(library, RTLD_NOW);
  if (nvml == nullptr) throw std::runtime_error(::dlerror());
  const auto init = reinterpret_cast<decltype(&nvmlInit_v2)>(::dlsym(nvml, "nvmlInit_v2"));
  const auto find = reinterpret_cast<decltype(&nvmlDeviceGetHandleByIndex_v2)>(
      ::dlsym(nvml, "nvmlDeviceGetHandleByIndex_v2"));
  const auto ask = reinterpret_cast<decltype(&nvmlDeviceGetMemoryInfo)>(
      ::dlsym(nvml, "nvmlDeviceGetMemoryInfo"));
  nvmlDevice_t device = nullptr;
  nvmlMemory_t memory{};
  const bool is_told = init() == NVML_SUCCESS && find(index, &device) == NVML_SUCCESS &&
                       ask(device, &memory) == NVML_SUCCESS;
  if (!is_told) throw std::runtime_error("NVML does not answer");
  return memory;
}

void say_sizes(const std::vector<std::size_t>& sizes) {
  std::string line = "sizes";
  for (const std::size_t size : sizes) line += " " + std::to_string(size);
  say(line);
}

void say_all_sizes(const Gpu& gpu, const char* nvml) {
  std::size_t free = 0;
  std::size_t total = 0;
  std::size_t device = 0;
  NVS_MUST(gpu->cuMemGetInfo_v2(&free, &total));
  NVS_MUST(gpu->cuDeviceTotalMem_v2(&device, gpu.device()));
  const nvmlMemory_t memory = ask_nvml(nvml);
  say_sizes({total, free, device, memory.total, memory.free, memory.used});
}

// Takes and gives until the test says anything.
void churn(Holdings& holdings, std::size_t bytes) {
  std::uint64_t asked = 0;
  std::uint64_t given = 0;
  say("begun");
  do {
    ++asked;
    if (holdings.take("plain", bytes) != CUDA_SUCCESS) continue;
    ++given;
    holdings.give_last();
  } while (!told_to_stop());
  wait_for_word();
  say("churned " + std::to_string(asked) + " " + std::to_string(given));
}

// Words about memory of other processes, or for them.
bool obey_sharing(Holdings& holdings, const std::string& word, std::istringstream& words) {
  const auto next = [&] {
    std::string name;
    words >> name;
    return name;
  };
  if (word == "share") {
    say("handle " + holdings.share_last());
  } else if (word == "send") {
    holdings.send_last(next());
    say("sent");
  } else if (word == "open") {
    say("took " + std::to_string(holdings.open(next())));
  } else if (word == "receive") {
    say("took " + std::to_string(holdings.receive(next())));
  } else {
    return false;
  }
  return true;
}

// A word of the test; false: it was the last.
bool obey(const Gpu& gpu, Holdings& holdings, const char* nvml, const std::string& line) {
  std::istringstream words(line);
  std::string word, way;
  std::size_t bytes = 0;
  words >> word;
  if (word == "stop" || word.empty()) return false;
  if (obey_sharing(holdings, word, words)) return true;
  if (word == "take") {
    words >> way >> bytes;
    say("took " + std::to_string(holdings.take(way, bytes)));
  } else if (word == "until") {
    // Again and again, until it succeeds.
    words >> bytes;
    say("begun");
    while (holdings.take("plain", bytes) != CUDA_SUCCESS) {
    }
    say("took 0");
  } else if (word == "churn") {
    words >> bytes;
    churn(holdings, bytes);
  } else if (word == "die") {
    // In a call of the driver's that is made for the allocation; where there is no room for it now,
    // when it is used.
    std::string call;
    words >> call >> way >> bytes;
    if (gpu.sim().cusimFailCall(call.c_str(), 0, 1, -SIGKILL) != 0) return false;
    holdings.take(way, bytes);
    holdings.write_all();
    throw std::runtime_error("outlived " + call);
  } else if (word == "write") {
    holdings.write_all();
    say("wrote");
  } else if (word == "elsewhere") {
    const nvmlMemory_t memory = ask_nvml(nvml, kElsewhere);
    say_sizes({memory.total, memory.free});
  } else if (word == "give") {
    holdings.give_last();
    say("gave");
  } else {
    say_all_sizes(gpu, nvml);
  }
  return true;
}

}  // namespace

// limits NVML: take WAY BYTES, until BYTES, churn BYTES, die CALL WAY BYTES, write, give, sizes,
// elsewhere, share, open HANDLE, send NAME, receive NAME, stop.
int limits(int argc, char** argv) {
  if (argc < 1) return 2;
  const Gpu gpu;
  Holdings holdings(gpu);
  say("ready");
  while (obey(gpu, holdings, argv[0], wait_for_word())) {
  }
  holdings.give_all();
  return 0;
}

// smi NVML: what one sees that only looks.
int smi(int argc, char** argv) {
  if (argc < 1) return 2;
  const nvmlMemory_t memory = ask_nvml(argv[0]);
  say_sizes({memory.total, memory.free, memory.used});
  return 0;
}

}  // namespace nvs::faults
