// SPDX-License-Identifier: Apache-2.0
// The hook of every row with action gate: mark, look, call the driver, unmark. The whole price of
// the library on a program's hot path is in call(); `nvshare-bench overhead` counts it.
#pragma once

#include <bit>
#include <string_view>
#include <type_traits>

#include "interposer/exports/default_streams.h"
#include "interposer/exports/real.h"
#include "interposer/exports/row_class.h"
#include "interposer/flow/flow.h"
#include "interposer/gate/gate.h"
#include "interposer/gate/huge_batch.h"
#include "interposer/gate/huge_copy.h"

#if defined(__x86_64__)
#define NVS_SAVES_REGISTERS [[gnu::no_caller_saved_registers, gnu::target("general-regs-only")]]
#else
#define NVS_SAVES_REGISTERS
#endif

namespace nvs::interposer {

// Arguments that name memory of a GPU: addresses, or what holds some.
template <class Argument>
concept NamesSides = requires(Argument argument) {
  argument->srcDevice;
  argument->dstDevice;
};
template <class Argument>
concept NamesMany =
    std::is_same_v<Argument, CUdeviceptr*> || std::is_same_v<Argument, CUstreamBatchMemOpParams*> ||
    std::is_same_v<Argument, CUDA_MEMCPY3D_BATCH_OP*> ||
    std::is_same_v<Argument, CUmemDecompressParams*>;
template <class Argument>
inline constexpr bool names_memory =
    std::is_same_v<Argument, CUdeviceptr> || NamesSides<Argument> || NamesMany<Argument> ||
    std::is_same_v<Argument, const CUDA_MEMSET_NODE_PARAMS*> ||
    std::is_same_v<Argument, CUgraphNodeParams*> || std::is_same_v<Argument, CUgraphExec>;

// Between the host and memory of a GPU, as its name says.
constexpr bool is_copy_beside_kernels(std::string_view name) {
  return name.starts_with("cuMemcpyHtoD") || name.starts_with("cuMemcpyDtoH");
}

// Where the stream stands among the arguments; the default stream of the row's ABI if it has none.
template <Row row>
struct CallStream {
  static constexpr bool kPerThread = std::string_view(row_name(row)).ends_with("_ptsz") ||
                                     std::string_view(row_name(row)).ends_with("_ptds");

  static CUstream or_default(CUstream stream) {
    return kPerThread ? or_per_thread(stream) : or_legacy(stream);
  }

  // Copies and fills of about the same size are of one kind.
  static std::uint64_t of_about(std::size_t bytes) {
    return static_cast<std::uint64_t>(std::bit_width(bytes)) << 32U;
  }

  template <class Argument>
  static void find_memory(gate::Call& call, Argument argument) {
    const auto name = [&call](CUdeviceptr address) {
      call.memory[call.memory[0] != 0 ? 1 : 0] = address;
    };
    const auto is_device = [](CUmemorytype type) {
      return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
    };
    if constexpr (std::is_same_v<Argument, CUdeviceptr>) {
      name(argument);
    } else if constexpr (NamesSides<Argument>) {
      if (argument == nullptr) return;
      if (is_device(argument->srcMemoryType)) name(argument->srcDevice);
      if (is_device(argument->dstMemoryType)) name(argument->dstDevice);
    } else if constexpr (std::is_same_v<Argument, const CUDA_MEMSET_NODE_PARAMS*>) {
      if (argument != nullptr) name(argument->dst);
    } else if constexpr (NamesMany<Argument>) {
      call.names_many = true;
    } else if constexpr (std::is_same_v<Argument, CUgraphNodeParams*>) {
      if (argument == nullptr) return;
      if (argument->type == CU_GRAPH_NODE_TYPE_MEMCPY)
        find_memory(call, &argument->memcpy.copyParams);
      if (argument->type == CU_GRAPH_NODE_TYPE_MEMSET) name(argument->memset.dst);
    } else if constexpr (std::is_same_v<Argument, CUgraphExec>) {
      if (call.submits) call.graph = argument;
    }
  }

  template <class Argument>
  static void find_gpus(gate::Call& call, Argument argument) {
    if constexpr (std::is_same_v<Argument, CUcontext>) {
      call.contexts[call.contexts[0] != nullptr ? 1 : 0] = argument;
    } else if constexpr (std::is_same_v<Argument, const CUDA_MEMCPY3D_PEER*>) {
      if (argument == nullptr) return;
      find_gpus(call, argument->srcContext);
      find_gpus(call, argument->dstContext);
    } else if constexpr (std::is_same_v<Argument, CUDA_LAUNCH_PARAMS*>) {
      call.on_all_gpus = true;
    }
  }

  // Where nothing else is said, what is submitted goes to the default stream. To instantiate a
  // graph touches no stream but the one to which it may upload, so that to mark any other might be
  // what breaks a capture.
  template <class... Arguments>
  static void find_all(gate::Call& call, Arguments... arguments) {
    find(call, arguments...);
    constexpr bool kUploads = (std::is_same_v<Arguments, CUDA_GRAPH_INSTANTIATE_PARAMS*> || ...);
    if (call.submits && call.stream == nullptr && !kUploads) call.stream = or_default(nullptr);
  }

  static void find_launches(gate::Call& call, CUDA_LAUNCH_PARAMS* launches, unsigned count,
                            unsigned) {
    if (launches == nullptr || count == 0) return;
    call.launches = launches;
    call.launch_count = count;
    call.stream = launches->hStream;
    call.on_stream = true;
    call.kind += reinterpret_cast<std::uintptr_t>(launches->function);
    call.kind += of_blocks(launches->gridDimX, launches->gridDimY, launches->gridDimZ);
  }

  // One function is launched with few blocks and with many, and takes as different times.
  static std::uint64_t of_blocks(unsigned x, unsigned y, unsigned z) {
    return of_about(std::size_t{x} * y * z);
  }
  template <class... Rest>
  static void find(gate::Call& call, CUfunction function, unsigned x, unsigned y, unsigned z,
                   Rest... rest) {
    call.kind += of_blocks(x, y, z);
    find(call, function, rest...);
  }

  template <class... Rest>
  static void find(gate::Call& call, CUdeviceptr* to, CUdeviceptr*, std::size_t* sizes,
                   std::size_t count, Rest... rest) {
    find_memory(call, to);
    std::size_t bytes = 0;
    const bool is_looked_at = sizes != nullptr && gate::is_shared();
    for (std::size_t i = 0; is_looked_at && i < count; ++i) bytes += sizes[i];
    call.kind += of_about(bytes);
    find(call, rest...);
  }

  template <class First, class... Rest>
  static void find(gate::Call& call, First first, Rest... rest) {
    find_memory(call, first);
    find_gpus(call, first);
    if constexpr (std::is_same_v<First, CUDA_LAUNCH_PARAMS*>) find_launches(call, first, rest...);
    if constexpr (std::is_same_v<First, CUstream>) {
      call.stream = or_default(first);
      call.on_stream = true;
    } else if constexpr (std::is_same_v<First, const CUlaunchConfig*>) {
      call.stream = or_default(first != nullptr ? first->hStream : nullptr);
      call.on_stream = true;
      if (first != nullptr)
        call.kind += of_blocks(first->gridDimX, first->gridDimY, first->gridDimZ);
    } else if constexpr (std::is_same_v<First, CUfunction> || std::is_same_v<First, CUgraphExec>) {
      call.kind += reinterpret_cast<std::uintptr_t>(first);
    } else if constexpr (std::is_same_v<First, std::size_t>) {
      call.kind += of_about(first);
    } else if constexpr (requires { bytes_of(first); }) {
      call.kind += of_about(bytes_of(first));
    }
    if constexpr (sizeof...(Rest) > 0) find(call, rest...);
  }
};

template <Row row, class Function = typename RowFunction<row>::Type>
struct GatedCall;

template <Row row, class... Arguments>
struct GatedCall<row, CUresult(Arguments...)> {
  static CUresult call(Arguments... arguments) {
    if constexpr (HugeCopy<Arguments...>::kIsCopy) {
      if (HugeCopy<Arguments...>::is_huge(arguments...)) [[unlikely]]
        return call_for_huge(arguments...);
    }
    return call_once(arguments...);
  }

 private:
  [[gnu::always_inline]] static CUresult call_once(Arguments... arguments) {
    gate::Slot* slot = gate::thread_slot;
    if (slot == nullptr || !pass_open_gate(*slot)) [[unlikely]] {
      slot = enter_slowly(arguments..., stack_pointer());
    }
    const CUresult result = real<row>()(arguments...);
    if (slot == nullptr) [[unlikely]] {
      gate::leave();
    } else {
      slot->inside.store(0, std::memory_order_release);
    }
    return result;
  }

  static constexpr std::uint64_t kRowKind =
      (index_of(row) + 1) | (is_copy_beside_kernels(row_name(row)) ? flow::kBesideKernels : 0);
  static constexpr bool kSubmits = class_of(row) == RowClass::submit;

  // Alone there is nobody to let in between; and a copy that is captured becomes one node.
  [[gnu::noinline, gnu::cold]] static CUresult call_for_huge(Arguments... arguments) {
    gate::Call call{0, nullptr, false, false, kRowKind, kSubmits};
    CallStream<row>::find_all(call, arguments...);
    if (!gate::takes_pieces(call)) return call_once(arguments...);
    return HugeCopy<Arguments...>::in_pieces([](Arguments... piece) { return call_once(piece...); },
                                             arguments...);
  }

  [[gnu::always_inline]] static bool pass_open_gate(gate::Slot& slot) {
    if (slot.inside.load(std::memory_order_relaxed) != 0) [[unlikely]]
      return false;
    mark(slot.inside);
    // The compiler keeps the order; membarrier on the closing side makes up for the processor.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if constexpr ((names_memory<Arguments> || ...)) {
      if (gate::several.load(std::memory_order_relaxed) != 0) [[unlikely]]
        return false;
    }
    return gate::word.load(std::memory_order_acquire) == 0;
  }

  // Both give the stack pointer of the function into which they are inlined; no frame pointer has
  // to be set up for that.
  [[gnu::always_inline]] static void mark(std::atomic<std::uintptr_t>& inside) {
#if defined(__x86_64__)
    __asm__("movq %%rsp, %0" : "=m"(inside));
#else
    inside.store(stack_pointer(), std::memory_order_relaxed);
#endif
  }
  [[gnu::always_inline]] static std::uintptr_t stack_pointer() {
    std::uintptr_t address;
#if defined(__x86_64__)
    __asm__("movq %%rsp, %0" : "=r"(address));
#else
    __asm__("mov %0, sp" : "=r"(address));
#endif
    return address;
  }

  // The arguments stand where they stand in call(), and all registers are saved in here: so only
  // this way pays for keeping them, and not the short one.
  NVS_SAVES_REGISTERS [[gnu::noinline, gnu::cold]] static gate::Slot* enter_slowly(
      Arguments... arguments, std::uintptr_t frame) {
    gate::Call call{frame, nullptr, false, false, kRowKind, kSubmits};
    CallStream<row>::find_all(call, arguments...);
    return gate::enter(call);
  }
};

}  // namespace nvs::interposer

#undef NVS_SAVES_REGISTERS
