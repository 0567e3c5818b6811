// SPDX-License-Identifier: Apache-2.0
// The contexts of this process, so that a drain can synchronise every one of them; and a promise
// that none of them ends while it does.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::contexts {

inline constexpr int kContextsMax = 256;

// What a context is taken for, and so how long a call that may end it waits.
enum class Use : std::uint8_t {
  waiting,  // for the program's work, which may wait for that very call: not for long
  working,  // streams and copies of ours, which end by themselves: until they have
};

// Told by the hooks of contexts. A context that is known already is not added twice.
void created(CUcontext context, int gpu);
// Before a call that may end the context: nobody uses it from now on.
void may_end(CUcontext context);
// After it: it is gone, or it goes on. False: another one has its handle already.
bool ended(CUcontext context);
void goes_on(CUcontext context);

// Whether we were told that it was created; not of green contexts, which others make.
bool is_known(CUcontext context);

// -1: it is not known.
int gpu_of(CUcontext context);

// Whether it may be a green context: it is not known, and a primary one is.
bool may_be_green(CUcontext context);
// Which context of the GPU has what is allocated in this one: the primary one in place of a green
// context, whose memory outlives it; else itself.
CUcontext owner_for(CUcontext context, int gpu);

// The primary context of a GPU, if it was created; null if not.
CUcontext primary_of(int gpu);
void primary_created(CUcontext context, int gpu);

enum class Taken : std::uint8_t {
  yes,
  none,    // there is none, or it is another GPU's
  ending,  // a call is under way that may end it, or leave it with all its work
};

// Takes the index-th of kContextsMax for use, if there is one and it is of that GPU.
Taken try_to_take(int index, int gpu, CUcontext& context, Use use = Use::waiting);
bool take(int index, int gpu, CUcontext& context, Use use = Use::waiting);
// The same for this one: its index, or -1 if it is not known, not of that GPU, or about to end.
int take_this(CUcontext context, int gpu, Use use);
void give_back(int index, Use use = Use::waiting);

// False: there was no room for one of them. When that one ends is not known, so it stays so.
bool knows_all(int gpu);

bool is_any(int gpu);
// Whether a call is under way that may end a context of this GPU.
bool is_any_ending(int gpu);

void start_over_in_child();

}  // namespace nvs::interposer::contexts
