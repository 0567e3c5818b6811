// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/memory/arena.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace nvs::sim {
namespace {

// Extents never move, so the address range is several times the memory it can hold at once.
constexpr std::uint64_t kFragmentation = 4;

// Giving pages back to the host costs more than the modelled release of a chunk; a process that
// swaps all the time would spend its life there. So many freed bytes keep their pages; they count
// as fresh all the same.
constexpr std::uint64_t kKeptMax = 1ULL << 30;

}  // namespace

void poison(std::byte* memory, std::uint64_t bytes) {
  auto* words = reinterpret_cast<std::uint32_t*>(memory);
  std::fill_n(words, bytes / sizeof(std::uint32_t), kPoison);
}

Arena::Arena(std::uint64_t capacity) : size_(capacity * kFragmentation) {
  file_ = UniqueFd{::memfd_create("nvshare-sim-vram", MFD_CLOEXEC)};
  if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) return;
  void* base =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  if (base == MAP_FAILED) return;
  void* touched = ::mmap(nullptr, size_ / kBlock, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (touched == MAP_FAILED) {
    ::munmap(base, size_);
    return;
  }
  base_ = static_cast<std::byte*>(base);
  touched_ = static_cast<unsigned char*>(touched);
  free_.emplace(0, size_);
}

Arena::~Arena() {
  if (base_ == nullptr) return;
  ::munmap(base_, size_);
  ::munmap(touched_, size_ / kBlock);
}

std::optional<std::uint64_t> Arena::take(std::uint64_t bytes) {
  const std::lock_guard guard{extents_mutex_};
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    kept_bytes_ -= std::min(kept_bytes_, bytes);
    const std::uint64_t offset = it->first;
    const std::uint64_t rest = it->second - bytes;
    free_.erase(it);
    if (rest != 0) free_.emplace(offset + bytes, rest);
    return offset;
  }
  return std::nullopt;
}

void Arena::give_back(std::uint64_t offset, std::uint64_t bytes) {
  {
    const std::lock_guard guard{poison_mutex_};
    std::fill_n(touched_ + offset / kBlock, bytes / kBlock, static_cast<unsigned char>(0));
  }
  const std::lock_guard guard{extents_mutex_};
  if (kept_bytes_ + bytes <= kKeptMax) {
    kept_bytes_ += bytes;
  } else {
    ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                static_cast<off_t>(bytes));
  }
  auto it = free_.emplace(offset, bytes).first;
  if (const auto next = std::next(it); next != free_.end() && offset + bytes == next->first) {
    it->second += next->second;
    free_.erase(next);
  }
  if (it == free_.begin()) return;
  const auto before = std::prev(it);
  if (before->first + before->second != offset) return;
  before->second += it->second;
  free_.erase(it);
}

// Whole blocks wait for their first touch; of the two at the ends only the bytes in question go.
void Arena::forget(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t end = offset + bytes;
  const std::uint64_t first = std::min((offset + kBlock - 1) / kBlock * kBlock, end);
  const std::uint64_t last = std::max(end / kBlock * kBlock, first);
  poison_if_fresh(offset, first - offset);
  poison(base_ + offset, first - offset);
  poison_if_fresh(last, end - last);
  poison(base_ + last, end - last);
  const std::lock_guard guard{poison_mutex_};
  std::fill_n(touched_ + first / kBlock, (last - first) / kBlock, static_cast<unsigned char>(0));
}

void Arena::poison_if_fresh(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t first = offset / kBlock;
  const std::uint64_t last = (offset + bytes - 1) / kBlock;
  for (std::uint64_t block = first; block <= last; ++block) {
    unsigned char& touched = touched_[block];
    if (__atomic_load_n(&touched, __ATOMIC_ACQUIRE) != 0) continue;
    const std::lock_guard guard{poison_mutex_};
    if (touched != 0) continue;
    poison(base_ + block * kBlock, kBlock);
    __atomic_store_n(&touched, static_cast<unsigned char>(1), __ATOMIC_RELEASE);
  }
}

}  // namespace nvs::sim
