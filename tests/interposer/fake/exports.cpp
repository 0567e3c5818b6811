// SPDX-License-Identifier: Apache-2.0
// The exported symbols, all from the table in spec/. Each is a jump through a slot, because a
// function can be made from a type by a template, but not be named by one. The slots here are those
// of the few entry points without a known type; all others are replaced by typed ones.
#include "tests/interposer/fake/function.h"

namespace nvs::fake {
namespace {

// As much as registers carry.
using Untyped = CUresult(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                         std::uint64_t);

}  // namespace
}  // namespace nvs::fake

#define NVS_CUDA_ENTRY(symbol, name, since, streams)                                  \
  extern "C" [[gnu::weak, gnu::visibility("hidden")]] void* const fake_slot_##symbol; \
  void* const fake_slot_##symbol = reinterpret_cast<void*>(                           \
      &nvs::fake::Function<nvs::fake::Row::symbol, nvs::fake::Untyped>::call);
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY

#if defined(__x86_64__)
#define NVS_FAKE_JUMP(symbol) "jmp *fake_slot_" #symbol "(%rip)\n"
#elif defined(__aarch64__)
#define NVS_FAKE_JUMP(symbol)    \
  "adrp x16, fake_slot_" #symbol \
  "\n"                           \
  "ldr x16, [x16, :lo12:fake_slot_" #symbol "]\nbr x16\n"
#else
#error "the fake driver knows no jump for this machine"
#endif

#define NVS_CUDA_ENTRY(symbol, name, since, streams)                                             \
  asm(".text\n.p2align 4\n.globl " #symbol "\n.type " #symbol ", %function\n.globl own_" #symbol \
      "\n.hidden own_" #symbol "\n" #symbol ":\nown_" #symbol                                    \
      ":\n" NVS_FAKE_JUMP(symbol) ".size " #symbol ", .-" #symbol "\n");
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
