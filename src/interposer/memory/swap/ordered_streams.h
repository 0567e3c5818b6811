// SPDX-License-Identifier: Apache-2.0
// The streams in which memory is allocated and freed: which context and device each belongs to, and
// events of ours to see how far it has got. What is known of a stream is asked of the driver once.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"
#include "interposer/memory/vmm/stream_heap.h"

namespace nvs::interposer::swap {

struct StreamPlace {
  vmm::StreamKey key;
  std::uint64_t context = 0;  // whose memory is allocated there: not its own if that is a green one
  int device = -1;
};

// Of a stream that is not null: the default ones have names. Afterwards the heap knows it. The
// error is what the driver says of such a stream.
CUresult find_stream(CUstream stream, StreamPlace& place);

// The program is about to destroy it.
void stream_ends(CUstream stream);

// The same of a green context, and so of its streams: waits for what is to be freed in them.
void green_may_end(std::uint64_t context);

// A call is about to be made that may end the context: its events are left alone from now on. And
// it has not.
void ordered_may_end(std::uint64_t context);
void ordered_goes_on(std::uint64_t context);

}  // namespace nvs::interposer::swap
