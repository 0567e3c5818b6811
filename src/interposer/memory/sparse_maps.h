// SPDX-License-Identifier: Apache-2.0
// Memory that is mapped into sparse arrays (cuMemMapArrayAsync) lives on when its handle is
// released, and has no address. Each mapping holds a reference in the books until it ends in a way
// that we see: it is unmapped or mapped anew just as it was mapped, or its array is gone.
// Whatever is unmapped in other pieces counts until the array goes, which is too much and never too
// little.
#pragma once

#include "cuda_api/cuda_array.h"
#include "interposer/memory/records.h"

namespace nvs::interposer::memory::sparse {

// The driver has taken these operations.
void done(const CUarrayMapInfo* operations, unsigned count);

// It is gone, with all that was mapped into it. The space tells what kind of array it was, and its
// birth in the books, as it was before, that it is not one that got the handle since.
void destroyed(Space space, std::uint64_t array, Birth birth);
// So are those of this context that are not younger.
void context_ended(std::uint64_t context, Birth before);

void start_over_in_child();

}  // namespace nvs::interposer::memory::sparse
