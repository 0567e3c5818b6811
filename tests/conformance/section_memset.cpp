// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void basic(Run& run) {
  const CUdeviceptr address = allocate(run, 4096);
  CALL("", cuMemsetD8_v2, address, 0x11, 4096);
  run.show("all bytes set", all_bytes(run, address, 4096, 0x11));
  CALL("odd range", cuMemsetD8_v2, address + 3, 0x22, 5);
  const auto bytes = read_bytes(run, address, 10);
  run.show("bytes 2, 3, 7, 8", cat(bytes[2], " ", bytes[3], " ", bytes[7], " ", bytes[8]));
  CALL("", cuMemsetD16_v2, address, 0x3344, 100);
  CALL("", cuMemsetD32_v2, address + 512, 0x55667788, 100);
  const auto words = read_bytes(run, address, 1024);
  run.show("first 16-bit word", cat(words[0], " ", words[1]));
  run.show("first 32-bit word", cat(words[512], " ", words[515]));
  run.show("after the last 32-bit word", words[512 + 400]);
}

void errors(Run& run) {
  const CUdeviceptr address = allocate(run, 2 * kMiB);
  CALL("0 bytes", cuMemsetD8_v2, address, 1, 0);
  CALL("0 bytes at null", cuMemsetD8_v2, 0, 1, 0);
  CALL("0 bytes at no such address", cuMemsetD8_v2, 4096, 1, 0);
  CALL("null", cuMemsetD8_v2, 0, 1, 16);
  CALL("no such address", cuMemsetD8_v2, 4096, 1, 16);
  CALL("past the end", cuMemsetD8_v2, address, 1, 4 * kMiB);
  CALL("misaligned by 1", cuMemsetD16_v2, address + 1, 1, 4);
  CALL("misaligned by 1", cuMemsetD32_v2, address + 1, 1, 4);
  CALL("misaligned by 2", cuMemsetD32_v2, address + 2, 1, 4);
  CALL("misaligned by 2, 0 words", cuMemsetD32_v2, address + 2, 1, 0);
  CALL("past the end", cuMemsetD32_v2, address, 1, kMiB);
  int local = 7;
  CALL("stack", cuMemsetD8_v2, address_of(&local), 1, 4);
  void* pinned = nullptr;
  SETUP(cuMemHostAlloc, &pinned, 4096, 0);
  CALL("pinned", cuMemsetD8_v2, address_of(pinned), 6, 4096);
  CALL("", cuCtxSynchronize);
  run.show("pinned is set", static_cast<unsigned char*>(pinned)[4095]);
  SETUP(cuMemFree_v2, address);
  CALL("freed", cuMemsetD8_v2, address, 1, 16);
}

void flat(Run& run) {
  const CUdeviceptr address = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, address, 0, 4096);
  CALL("pitch 64, 16 x 4", cuMemsetD2D8_v2, address, 64, 7, 16, 4);
  const auto bytes = read_bytes(run, address, 4096);
  run.show("row 3, columns 15 and 16", cat(bytes[3 * 64 + 15], " ", bytes[3 * 64 + 16]));
  CALL("pitch 64, 16 x 4", cuMemsetD2D16_v2, address, 64, 7, 16, 4);
  CALL("pitch 64, 16 x 4", cuMemsetD2D32_v2, address, 64, 7, 16, 4);
  CALL("pitch under the width", cuMemsetD2D8_v2, address, 15, 7, 16, 4);
  CALL("pitch under the width", cuMemsetD2D32_v2, address, 60, 7, 16, 4);
  CALL("pitch not a multiple of 4", cuMemsetD2D32_v2, address, 66, 7, 16, 4);
  CALL("misaligned", cuMemsetD2D32_v2, address + 2, 64, 7, 16, 4);
  CALL("width 0", cuMemsetD2D8_v2, address, 64, 7, 0, 4);
  CALL("height 0", cuMemsetD2D8_v2, address, 64, 7, 16, 0);
  CALL("pitch 0, one row", cuMemsetD2D8_v2, address, 0, 7, 16, 1);
  CALL("past the end", cuMemsetD2D8_v2, address, 64, 7, 16, 1000000);
  CALL("null", cuMemsetD2D8_v2, 0, 64, 7, 16, 4);
}

void asynchronous(Run& run) {
  const CUstream stream = new_stream(run);
  const CUdeviceptr address = allocate(run, 4096);
  CALL("", cuMemsetD8Async, address, 9, 4096, stream);
  CALL("", cuStreamSynchronize, stream);
  run.show("all bytes set", all_bytes(run, address, 4096, 9));
  CALL("", cuMemsetD16Async, address, 9, 10, stream);
  CALL("", cuMemsetD32Async, address, 9, 10, stream);
  CALL("", cuMemsetD2D8Async, address, 64, 7, 16, 4, stream);
  CALL("", cuMemsetD2D16Async, address, 64, 7, 16, 4, stream);
  CALL("", cuMemsetD2D32Async, address, 64, 7, 16, 4, stream);
  CALL("misaligned", cuMemsetD32Async, address + 1, 9, 10, stream);
  CALL("null", cuMemsetD8Async, 0, 9, 10, stream);
  CALL("past the end", cuMemsetD8Async, address, 9, 8 * kMiB, stream);
  CALL("legacy stream", cuMemsetD8Async, address, 9, 10, CU_STREAM_LEGACY);
  CALL("per-thread stream", cuMemsetD8Async, address, 9, 10, CU_STREAM_PER_THREAD);
  CALL("", cuMemsetD8_v2_ptds, address, 9, 10);
  CALL("", cuMemsetD32_v2_ptds, address, 9, 10);
  CALL("null stream", cuMemsetD8Async_ptsz, address, 9, 10, nullptr);
  CALL("at the end", cuCtxSynchronize);
}

}  // namespace

Section memset_section() {
  return {"memset",
          Start::kContext,
          {{"basic", basic},
           {"errors", errors, Process::kOwn},
           {"flat", flat, Process::kOwn},
           {"asynchronous", asynchronous}}};
}

}  // namespace nvs::conformance
