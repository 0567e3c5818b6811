// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/page_pool.h"

#include "os/linux_calls.h"

namespace nvs::interposer::vmm {

unsigned PagePool::bits_for(std::size_t bytes) {
  unsigned bits = kFirstBits;
  while ((std::size_t{1} << bits) < bytes) ++bits;
  return bits;
}

void* PagePool::take(std::size_t bytes) {
  void* block = nullptr;
  if (bytes > std::size_t{1} << kLastBits) {
    block = map_(bytes);
  } else {
    const unsigned bits = bits_for(bytes);
    Free* reused = free_[bits];
    if (reused != nullptr) free_[bits] = reused->next;
    block = reused != nullptr ? reused : cut(std::size_t{1} << bits);
  }
  if (block != nullptr) taken_ += bytes;
  return block;
}

void PagePool::give(void* block, std::size_t bytes) {
  taken_ -= bytes;
  if (bytes > std::size_t{1} << kLastBits) {
    os::unmap_pages(block, bytes);
    return;
  }
  Free*& list = free_[bits_for(bytes)];
  list = ::new (block) Free{list};
}

// What is left of a slab that is too short is lost: at most an eighth of it.
void* PagePool::cut(std::size_t bytes) {
  if (slab_left_ < bytes) {
    void* slab = map_(kSlabBytes);
    if (slab == nullptr) return nullptr;
    slab_ = static_cast<std::uint8_t*>(slab);
    slab_left_ = kSlabBytes;
  }
  void* block = slab_;
  slab_ += bytes;
  slab_left_ -= bytes;
  return block;
}

}  // namespace nvs::interposer::vmm
