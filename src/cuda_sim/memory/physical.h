// SPDX-License-Identifier: Apache-2.0
// Device memory without an address: what cuMemCreate makes, and what lies behind every other
// allocation. Its bytes are charged to the machine's books for exactly as long as it exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/unique_fd.h"
#include "cuda_sim/machine/machine.h"
#include "cuda_sim/memory/arena.h"

namespace nvs::sim {

/// Whether other processes can be given the memory through a file descriptor of its own.
enum class Exportable { no, yes };

/// The content of an exported descriptor: where the memory lies in the arena of the process that
/// made it. Memory that may be exported costs no more than other memory until it is.
struct ExportTicket {
  static constexpr std::uint64_t kMagic = 0x6e76736578703031;  // "nvsexp01"
  std::uint64_t magic = kMagic;
  std::uint64_t bytes = 0;
  std::uint64_t shared_id = 0;
  std::uint64_t offset = 0;
  std::uint32_t gpu = 0;
  std::int32_t pid = 0;
  std::int32_t arena = 0;  // its descriptor there
};

class Physical {
 public:
  /// Null when the GPU has no room.
  static std::shared_ptr<Physical> create(Machine& machine, Arena& arena, unsigned gpu,
                                          std::uint64_t bytes, Exportable exportable);
  /// Opens memory that another process exported. Null when the descriptor is nothing of the kind.
  static std::shared_ptr<Physical> import(Machine& machine, int fd);
  /// Opens `bytes` at `offset` of another process's arena, charged under `shared_id`.
  static std::shared_ptr<Physical> open_peer(Machine& machine, int arena_fd, std::uint64_t offset,
                                             std::uint64_t bytes, unsigned gpu,
                                             std::uint64_t shared_id);
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  unsigned gpu() const { return gpu_; }
  std::uint64_t bytes() const { return bytes_; }
  std::byte* at(std::uint64_t offset) const { return base_ + offset; }
  void poison_if_fresh(std::uint64_t offset, std::uint64_t bytes) const;
  /// A part of memory in this process's arena is handed out anew.
  void forget(std::uint64_t offset, std::uint64_t bytes) const {
    if (arena_ != nullptr) arena_->forget(offset_ + offset, bytes);
  }

  /// A descriptor for cuMemExportToShareableHandle; -1 unless exportable.
  int duplicate_fd();
  bool exportable() const { return exportable_; }

  /// For legacy IPC: makes the memory shareable in the books and says where it lies in this
  /// process's arena.
  std::uint64_t publish();
  std::uint64_t arena_offset() const { return offset_; }
  /// The number in the machine's books; 0 unless shared.
  std::uint64_t shared_id() const { return shared_id_; }
  bool in_arena() const { return arena_ != nullptr; }

 private:
  Physical(Machine& machine, unsigned gpu, std::uint64_t bytes)
      : machine_(machine), gpu_(gpu), bytes_(bytes) {}
  bool map_file(std::uint64_t offset, std::uint64_t mapped_bytes, int fd);

  Machine& machine_;
  unsigned gpu_;
  std::uint64_t bytes_;
  std::byte* base_ = nullptr;
  Arena* arena_ = nullptr;    // set for memory in this process's arena
  std::uint64_t offset_ = 0;  // in the arena
  bool exportable_ = false;
  UniqueFd ticket_;  // set once it was exported, and for what is imported
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t shared_id_ = 0;  // 0: charged to this process
  bool charged_ = false;
};

}  // namespace nvs::sim
