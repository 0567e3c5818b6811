// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <numeric>

#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

constexpr std::size_t kBytes = 4096;

std::vector<std::uint8_t> counting() {
  std::vector<std::uint8_t> data(kBytes);
  std::iota(data.begin(), data.end(), std::uint8_t{3});
  return data;
}

void basic(Run& run) {
  const auto source = counting();
  std::vector<std::uint8_t> back(kBytes);
  const CUdeviceptr first = allocate(run, kBytes);
  const CUdeviceptr second = allocate(run, kBytes);
  CALL("", cuMemcpyHtoD_v2, first, source.data(), kBytes);
  CALL("", cuMemcpyDtoD_v2, second, first, kBytes);
  CALL("", cuMemcpyDtoH_v2, back.data(), second, kBytes);
  run.show("round trip", back == source);
  CALL("odd offset and size", cuMemcpyHtoD_v2, first + 3, source.data(), 5);
  CALL("odd offset and size", cuMemcpyDtoD_v2, second + 1, first + 3, 5);
  CALL("odd offset and size", cuMemcpyDtoH_v2, back.data() + 9, second + 1, 5);
  run.show("odd round trip", std::memcmp(back.data() + 9, source.data(), 5) == 0);
  CALL("host to device", cuMemcpy, first, address_of(source.data()), kBytes);
  CALL("device to device", cuMemcpy, second, first, kBytes);
  std::fill(back.begin(), back.end(), std::uint8_t{0});
  CALL("device to host", cuMemcpy, address_of(back.data()), second, kBytes);
  run.show("round trip through cuMemcpy", back == source);
  std::fill(back.begin(), back.end(), std::uint8_t{0});
  CALL("host to host", cuMemcpy, address_of(back.data()), address_of(source.data()), kBytes);
  run.show("host to host arrived", back == source);
  CALL("same place", cuMemcpyDtoD_v2, first, first, kBytes);
  CALL("overlapping", cuMemcpyDtoD_v2, first + 16, first, 1024);
}

void zero_bytes(Run& run) {
  char text[16] = {};
  const CUdeviceptr address = allocate(run, kBytes);
  CALL("0 bytes", cuMemcpyHtoD_v2, address, text, 0);
  CALL("0 bytes", cuMemcpyDtoH_v2, text, address, 0);
  CALL("0 bytes", cuMemcpyDtoD_v2, address, address, 0);
  CALL("0 bytes", cuMemcpy, address, address, 0);
  CALL("0 bytes from and to null", cuMemcpy, 0, 0, 0);
  CALL("0 bytes to null", cuMemcpyHtoD_v2, 0, text, 0);
  CALL("0 bytes from null", cuMemcpyHtoD_v2, address, nullptr, 0);
  CALL("0 bytes", cuMemcpyHtoDAsync_v2, address, text, 0, nullptr);
  CALL("0 bytes", cuMemcpyDtoHAsync_v2, text, address, 0, nullptr);
  CALL("0 bytes", cuMemcpyDtoDAsync_v2, address, address, 0, nullptr);
  CALL("0 bytes", cuMemcpyAsync, address, address, 0, nullptr);
  CALL("0 bytes one past the end", cuMemcpyHtoD_v2, address + kBytes, text, 0);
  CALL("0 bytes to no such address", cuMemcpyHtoD_v2, 4096, text, 0);
}

void out_of_range(Run& run) {
  auto data = counting();
  data.resize(8 * kMiB);
  const CUdeviceptr address = allocate(run, 2 * kMiB);
  const CUdeviceptr small = allocate(run, 100);
  CALL("past the end", cuMemcpyHtoD_v2, address, data.data(), 4 * kMiB);
  CALL("past the end", cuMemcpyDtoH_v2, data.data(), address, 4 * kMiB);
  CALL("source past the end", cuMemcpyDtoD_v2, small, address + 2 * kMiB - 10, 50);
  CALL("101 bytes of 100", cuMemcpyHtoD_v2, small, data.data(), 101);
  CALL("1000 bytes of 100", cuMemcpyHtoD_v2, small, data.data(), 1000);
  CALL("starts past the end", cuMemcpyHtoD_v2, address + 2 * kMiB, data.data(), 16);
  CALL("to null", cuMemcpyHtoD_v2, 0, data.data(), 16);
  CALL("from null", cuMemcpyHtoD_v2, address, nullptr, 16);
  CALL("to null", cuMemcpyDtoH_v2, nullptr, address, 16);
  CALL("from null", cuMemcpyDtoH_v2, data.data(), 0, 16);
  CALL("to no such address", cuMemcpyHtoD_v2, 4096, data.data(), 16);
  CALL("from no such address", cuMemcpyDtoH_v2, data.data(), 4096, 16);
  CALL("to no such address", cuMemcpyDtoD_v2, 4096, address, 16);
  CALL("from no such address", cuMemcpyDtoD_v2, address, 4096, 16);
  CALL("size wraps around", cuMemcpyDtoD_v2, address, address, ~std::size_t{0});
  SETUP(cuMemFree_v2, address);
  CALL("freed", cuMemcpyHtoD_v2, address, data.data(), 16);
  CALL("freed", cuMemcpyDtoH_v2, data.data(), address, 16);
  CALL("still well", cuCtxSynchronize);
}

void wrong_kind(Run& run) {
  char text[64] = {};
  void* pinned = nullptr;
  SETUP(cuMemHostAlloc, &pinned, kBytes, 0);
  const CUdeviceptr address = allocate(run, kBytes);
  CALL("stack as device memory", cuMemcpyHtoD_v2, address_of(text), text + 32, 8);
  CALL("stack as device source", cuMemcpyDtoH_v2, text, address_of(text + 32), 8);
  CALL("stack as device memory", cuMemcpyDtoD_v2, address_of(text), address, 8);
  CALL("pinned as device memory", cuMemcpyHtoD_v2, address_of(pinned), text, 8);
  CALL("pinned as device source", cuMemcpyDtoH_v2, text, address_of(pinned), 8);
  CALL("pinned to device", cuMemcpyDtoD_v2, address, address_of(pinned), 8);
  CALL("device as host source", cuMemcpyHtoD_v2, address, pointer_of(address + 64), 8);
  CALL("device as host destination", cuMemcpyDtoH_v2, pointer_of(address), address + 64, 8);
  CALL("pinned to pinned", cuMemcpy, address_of(pinned), address_of(pinned) + 64, 8);
  CALL("pinned to stack", cuMemcpy, address_of(text), address_of(pinned), 8);
}

void asynchronous(Run& run) {
  const CUstream stream = new_stream(run);
  const auto source = counting();
  std::vector<std::uint8_t> back(kBytes);
  void* pinned = nullptr;
  SETUP(cuMemHostAlloc, &pinned, kBytes, 0);
  const CUdeviceptr first = allocate(run, kBytes);
  const CUdeviceptr second = allocate(run, kBytes);
  CALL("pageable", cuMemcpyHtoDAsync_v2, first, source.data(), kBytes, stream);
  CALL("", cuMemcpyDtoDAsync_v2, second, first, kBytes, stream);
  CALL("pinned", cuMemcpyDtoHAsync_v2, pinned, second, kBytes, stream);
  CALL("pageable", cuMemcpyDtoHAsync_v2, back.data(), second, kBytes, stream);
  CALL("", cuStreamSynchronize, stream);
  run.show("pageable arrived", back == source);
  run.show("pinned arrived", std::memcmp(pinned, source.data(), kBytes) == 0);
  std::memset(pinned, 9, kBytes);
  CALL("pinned", cuMemcpyHtoDAsync_v2, first, pinned, kBytes, stream);
  CALL("device to device", cuMemcpyAsync, second, first, kBytes, stream);
  CALL("host to host", cuMemcpyAsync, address_of(back.data()), address_of(pinned), kBytes, stream);
  CALL("again", cuStreamSynchronize, stream);
  run.show("second has it", all_bytes(run, second, kBytes, 9));
  run.show("host to host arrived", back[5] == 9);
  CALL("legacy stream", cuMemcpyHtoDAsync_v2, first, pinned, kBytes, CU_STREAM_LEGACY);
  CALL("per-thread stream", cuMemcpyHtoDAsync_v2, first, pinned, kBytes, CU_STREAM_PER_THREAD);
  CALL("null stream", cuMemcpyHtoDAsync_v2, first, pinned, kBytes, nullptr);
  CALL("past the end", cuMemcpyHtoDAsync_v2, first + 100, pinned, 8 * kMiB, stream);
  CALL("to null", cuMemcpyHtoDAsync_v2, 0, pinned, 16, stream);
  CALL("from null", cuMemcpyDtoHAsync_v2, pinned, 0, 16, stream);
  CALL("to no such address", cuMemcpyDtoDAsync_v2, 4096, first, 16, stream);
  CALL("at the end", cuStreamSynchronize, stream);
}

void peer(Run& run) {
  const CUcontext context = current_context(run);
  const auto source = counting();
  const CUdeviceptr first = allocate(run, kBytes);
  const CUdeviceptr second = allocate(run, kBytes);
  SETUP(cuMemcpyHtoD_v2, first, source.data(), kBytes);
  CALL("to itself", cuMemcpyPeer, second, context, first, context, kBytes);
  run.show("arrived", read_bytes(run, second, kBytes) == source);
  CALL("to itself", cuMemcpyPeerAsync, second, context, first, context, kBytes, nullptr);
  CALL("0 bytes", cuMemcpyPeer, second, context, first, context, 0);
  CALL("null context", cuMemcpyPeer, second, nullptr, first, context, kBytes);
  CALL("past the end", cuMemcpyPeer, second, context, first, context, 8 * kMiB);
  const CUcontext other = new_context(run);
  const CUdeviceptr third = allocate(run, kBytes);
  CALL("to another context", cuMemcpyPeer, third, other, first, context, kBytes);
  run.show("arrived in the other context", read_bytes(run, third, kBytes) == source);
  CALL("contexts swapped", cuMemcpyPeer, third, context, first, other, kBytes);
  CALL("between contexts", cuMemcpyDtoD_v2, third, first, kBytes);
  SETUP(cuCtxDestroy_v2, other);
}

void per_thread_names(Run& run) {
  char text[64] = "0123456789";
  char back[64] = {};
  const CUdeviceptr first = allocate(run, kBytes);
  const CUdeviceptr second = allocate(run, kBytes);
  CALL("", cuMemcpyHtoD_v2_ptds, first, text, 64);
  CALL("", cuMemcpyDtoD_v2_ptds, second, first, 64);
  CALL("", cuMemcpyDtoH_v2_ptds, back, second, 64);
  run.show("round trip", std::memcmp(text, back, 64) == 0);
  CALL("", cuMemcpy_ptds, second, first, 64);
  CALL("null stream", cuMemcpyHtoDAsync_v2_ptsz, first, text, 64, nullptr);
  CALL("null stream", cuMemcpyDtoDAsync_v2_ptsz, second, first, 64, nullptr);
  CALL("null stream", cuMemcpyDtoHAsync_v2_ptsz, back, second, 64, nullptr);
  CALL("null stream", cuMemcpyAsync_ptsz, second, first, 64, nullptr);
  CALL("null stream", cuStreamSynchronize_ptsz, nullptr);
  CALL("past the end", cuMemcpyHtoD_v2_ptds, first, text, 8 * kMiB);
}

// The first versions of the interface take 32-bit addresses; what do they answer today?
void first_versions(Run& run) {
  char text[16] = {};
  CALL("16 bytes at 4096", cuMemcpyHtoD, 4096, text, 16);
  CALL("16 bytes at 4096", cuMemcpyDtoH, text, 4096, 16);
  CALL("0 bytes", cuMemcpyHtoD, 4096, text, 0);
}

}  // namespace

Section copy_section() {
  return {"copy",
          Start::kContext,
          {
              {"basic", basic},
              {"zero_bytes", zero_bytes, Process::kOwn},
              {"out_of_range", out_of_range, Process::kOwn},
              {"wrong_kind", wrong_kind, Process::kOwn},
              {"asynchronous", asynchronous},
              {"peer", peer},
              {"per_thread_names", per_thread_names},
              {"first_versions", first_versions, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
