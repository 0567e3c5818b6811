// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/credits.h"

#include <bit>

#include "interposer/gate/waits.h"

namespace nvs::interposer::gate {
namespace {

constinit std::atomic<std::uint32_t> credits[kGpusMax] = {};
// Those that were used, ever.
constinit std::atomic<std::uint32_t> let_in[kGpusMax] = {};

bool take_credit(int gpu) {
  std::uint32_t left = credits[gpu].load(std::memory_order_acquire);
  while (left != 0) {
    if (credits[gpu].compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

// What is given back is so before the caller's mark is cleared, so that no drain ends with it.
void give_back(std::uint32_t gpus) {
  for (; gpus != 0; gpus &= gpus - 1) {
    credits[std::countr_zero(gpus)].store(1, std::memory_order_release);
  }
}

}  // namespace

bool has_credits(std::uint32_t gpus) {
  for (; gpus != 0; gpus &= gpus - 1) {
    if (credits[std::countr_zero(gpus)].load(std::memory_order_acquire) == 0) return false;
  }
  return true;
}

bool take_credits(std::uint32_t gpus) {
  std::uint32_t taken = 0;
  for (std::uint32_t left = gpus; left != 0; left &= left - 1) {
    if (!take_credit(std::countr_zero(left))) {
      give_back(taken);
      return false;
    }
    taken |= left & -left;
  }
  for (; taken != 0; taken &= taken - 1) {
    let_in[std::countr_zero(taken)].fetch_add(1, std::memory_order_seq_cst);
  }
  return true;
}

void forget_credit(int gpu) { credits[gpu].store(0, std::memory_order_relaxed); }

void forget_credits() {
  for (int gpu = 0; gpu < kGpusMax; ++gpu) forget_credit(gpu);
}

void let_one_in(int gpu) {
  credits[gpu].store(1, std::memory_order_release);
  waits::changed();
}

void let_nobody_in(int gpu) { credits[gpu].exchange(0, std::memory_order_acq_rel); }

bool may_let_in(int gpu) { return credits[gpu].load(std::memory_order_seq_cst) != 0; }

std::uint32_t let_in_so_far(int gpu) { return let_in[gpu].load(std::memory_order_seq_cst); }

}  // namespace nvs::interposer::gate
