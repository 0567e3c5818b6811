// SPDX-License-Identifier: Apache-2.0
// A graph of short kernels and copies, captured from the stream once and replayed in each
// iteration, as frameworks do it to save launches: z = x + y piece by piece, and each piece of z
// copied back over x.

#include "workloads/slab_buffer.h"
#include "workloads/workload.h"

namespace nvs::workloads {
namespace {

constexpr std::uint64_t kPieceFloats = 16384;
constexpr std::uint64_t kPieces = 8;

float piece_start(std::size_t slab, std::uint64_t) { return static_cast<float>(slab % 5); }
float piece_addend(std::size_t slab, std::uint64_t) { return static_cast<float>(1 + slab % 7); }

// An executable graph with an owner, captured from what `queue` queues.
class CapturedGraph {
 public:
  template <class Queue>
  CapturedGraph(const Gpu& gpu, Queue queue) : gpu_(gpu) {
    NVS_CU(gpu_, cuStreamBeginCapture_v2, gpu_.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    queue();
    CUgraph graph = nullptr;
    NVS_CU(gpu_, cuStreamEndCapture, gpu_.stream(), &graph);
    const CUresult result = gpu_.driver().cuGraphInstantiateWithFlags(&executable_, graph, 0);
    gpu_.driver().cuGraphDestroy(graph);
    if (result != CUDA_SUCCESS) {
      throw CudaError(gpu_.driver(), "cuGraphInstantiateWithFlags", result);
    }
  }
  ~CapturedGraph() { gpu_.driver().cuGraphExecDestroy(executable_); }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  void launch() const { NVS_CU(gpu_, cuGraphLaunch, executable_, gpu_.stream()); }

 private:
  const Gpu& gpu_;
  CUgraphExec executable_ = nullptr;
};

class Graph final : public Workload {
 public:
  Graph(const Kernels& kernels, const Shape& shape)
      : kernels_(kernels),
        rewrite_(shape.rewrite),
        x_(kernels, "x", floats_in(shape.bytes / 3, kPieceFloats * kPieces),
           SlabBuffer::usual_slab_floats(kernels.gpu())),
        y_(kernels, "y", x_.floats(), SlabBuffer::usual_slab_floats(kernels.gpu())),
        z_(kernels, "z", x_.floats(), SlabBuffer::usual_slab_floats(kernels.gpu())),
        up_(kernels.gpu(), [this] { queue(1); }),
        down_(kernels.gpu(), [this] { queue(-1); }) {
    x_.fill(piece_start);
    y_.fill(piece_addend);
    // As x, because copies carry over what the simulator's kernels skip.
    z_.fill(piece_start);
  }

  void iterate() override {
    up_next_ = !up_next_;
    (up_next_ ? up_ : down_).launch();
    z_.note_add3(x_, y_);
    x_.note_copy(z_);
    if (rewrite_ == Rewrite::kAll) y_.note_step(up_next_ ? 1 : -1);
  }

  std::string verify() override {
    for (const SlabBuffer* buffer : {&x_, &y_, &z_}) {
      if (std::string message = buffer->verify(); !message.empty()) return message;
    }
    return "";
  }

 private:
  // What one replay does; `delta` is what y changes by where all data is to be rewritten.
  void queue(float delta) const {
    const Gpu& gpu = kernels_.gpu();
    const std::uint64_t floats = x_.floats() / kPieces;
    for (std::uint64_t piece = 0; piece < kPieces; ++piece) {
      const std::uint64_t offset = piece * floats * sizeof(float);
      kernels_.add3(z_.address() + offset, x_.address() + offset, y_.address() + offset, floats);
      NVS_CU(gpu, cuMemcpyDtoDAsync_v2, x_.address() + offset, z_.address() + offset,
             floats * sizeof(float), gpu.stream());
      if (rewrite_ == Rewrite::kAll) kernels_.step(y_.address() + offset, delta, floats);
    }
  }

  const Kernels& kernels_;
  Rewrite rewrite_;
  SlabBuffer x_;
  SlabBuffer y_;
  SlabBuffer z_;
  // Two graphs, because the numbers that a kernel gets are fixed when it is captured.
  CapturedGraph up_;
  CapturedGraph down_;
  bool up_next_ = false;
};

}  // namespace

std::unique_ptr<Workload> make_graph(const Kernels& kernels, const Shape& shape) {
  return std::make_unique<Graph>(kernels, shape);
}

}  // namespace nvs::workloads
