// SPDX-License-Identifier: Apache-2.0
// How much GPU memory a process holds, by context and kind, to the byte. The hooks tell the books
// what the driver did; the books never call anybody. Safe for any thread; no libc, no malloc: the
// tables live in pages of their own, and if none can be had the books say that they are incomplete.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/memory/memory_kind.h"
#include "interposer/memory/pieces.h"
#include "interposer/memory/records.h"
#include "interposer/memory/slot_table.h"
#include "os/futex_lock.h"

namespace nvs::interposer::memory {

// Contexts and devices with a row of their own; what more there are share one last row.
inline constexpr std::size_t kOwnersMax = 64;
// Devices whose primary context the books remember.
inline constexpr int kDevicesMax = 64;

struct Counts {
  std::uint64_t bytes_now = 0;
  std::uint64_t bytes_peak = 0;
  std::uint64_t count_now = 0;
  std::uint64_t allocations = 0;  // in total

  void grow(std::uint64_t bytes) {
    bytes_now += bytes;
    if (bytes_now > bytes_peak) bytes_peak = bytes_now;
  }
};

enum class RowUse : std::uint8_t { free, context, primary_context, device, others };

struct OwnerRow {
  RowUse use = RowUse::free;
  int device = kUnknownDevice;
  std::uint64_t value = 0;
  Counts kinds[kMemoryKindCount];
  Counts all;

  Counts& of(MemoryKind kind) { return kinds[index_of(kind)]; }
  const Counts& of(MemoryKind kind) const { return kinds[index_of(kind)]; }
};

// What happens if the books know the number already. Normally the driver has given it anew, so the
// old memory is gone; but an IPC handle or a shared VMM handle may be opened twice.
enum class Again : std::uint8_t { replaces, adds_reference };

// Bytes that were set aside for an allocation before it was made, and the device that they are of.
struct Reserved {
  int device = kUnknownDevice;  // unknown: that of the owner
  std::uint64_t bytes = 0;
};

struct Allocation {
  Space space = Space::address;
  MemoryKind kind = MemoryKind::plain;
  Again again = Again::replaces;
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  Owner owner = {};
  std::uint64_t asked = 0;  // by the program, if it was less than these bytes; 0: it was not
  Reserved reserved = {};   // becomes part of what is counted, in the same moment
  PieceName piece = 0;      // that it is, and that is held for it already
};

// One reference taken out of the books, for as long as the driver may still refuse to give it up.
struct Taken {
  Record record;  // as it was before; unused if the books had none
};

class Books {
 public:
  explicit constexpr Books(MapPages map = &os::map_pages) : map_(map) {}

  // Memory that the driver has handed out. False, and nothing written down, if its owner is new:
  // then find out the owner's device and say it again with that.
  bool allocated(const Allocation& allocation);
  void allocated(const Allocation& allocation, int owner_device);

  // Takes one reference before the driver is asked to: another thread may get the same address the
  // moment the driver has it back. If the driver refuses, put it back.
  Taken take(Space space, std::uint64_t id);
  void put_back(const Taken& taken);
  void retained(std::uint64_t vmm_handle);

  // VMM mappings. A handle's memory lives until it has neither references nor mappings. The first
  // mapping also tells the size of a handle that was imported.
  void mapped(std::uint64_t begin, std::uint64_t size, std::uint64_t vmm_handle);
  void unmapped(std::uint64_t begin, std::uint64_t size, Birth before);

  // Contexts. A row lasts as long as its context. A handle that the books know and the driver gives
  // to a new context is proof that the old one is gone, with its memory.
  void context_created(std::uint64_t context, int device);
  // Whether the context had no row yet. One that was released for good and comes back under its old
  // handle starts anew.
  bool primary_retained(std::uint64_t context, int device);
  // The context that was last the primary one of the device; 0 if none is known.
  std::uint64_t primary_of(int device) const;
  // Drops everything of an owner that is not younger than `before`. Its row as it was goes to
  // `last`; false if it had none of its own.
  bool ended(Owner owner, Birth before, OwnerRow& last);

  Birth now() const;
  // When what `id` means now was written down; 0 if the books have nothing of it.
  Birth birth_of(Space space, std::uint64_t id) const;

  // What `id` means now, and the device of its owner; false if the books have nothing of it.
  bool find_record(Space space, std::uint64_t id, Record& record, int& device) const;
  // Some records of a kind on the account of a device, whoever owns them, in no order, at most
  // `most` of them: how many. The cursor starts at 0. What comes or goes between two calls may be
  // left out, or told twice.
  std::size_t list(MemoryKind kind, int device, std::size_t& cursor, Record* records,
                   std::size_t most) const;

  // What the process itself has of a device, to the byte that the program asked for, and what it is
  // about to have: written wherever others can read it too, from now on; null: nowhere. The latter
  // where it was until now, and where what is there stays.
  std::uint64_t* keep_at(int device, std::uint64_t* place);
  // Bytes that are about to be allocated; where they were written.
  std::uint64_t* reserve(int device, std::uint64_t bytes);
  void cancel(const Reserved& reserved);
  // Takes a record out, whose bytes count on until they are cancelled, or an allocation has them.
  Reserved set_aside(Space space, std::uint64_t id);
  std::uint64_t charged(int device) const;

  // Memory that other processes can have too. From now on it counts as a piece of that name, unless
  // it has one already or there is no place for it; the name it has then, or 0.
  PieceName share(Space space, std::uint64_t id, PieceName name);
  Held hold_piece(PieceName name, int device, std::uint64_t bytes);
  void drop_piece(PieceName name);
  std::uint64_t piece_bytes(PieceName name) const;
  // Of a handle that was imported, if nobody has said yet how large its memory is: its piece and
  // the GPU that it is of.
  bool find_unsized(std::uint64_t vmm_handle, PieceName& name, int& device) const;
  bool learn_piece_bytes(PieceName name, std::uint64_t bytes);
  void forget_piece_bytes(PieceName name);
  void keep_pieces_at(wire::AccountPieces* file, std::uint32_t slot);
  void number_pieces(int device, int number);

  // The index-th of kOwnersMax + 1 rows, the last of which is the shared one; false if nobody uses
  // it.
  bool row(std::size_t index, OwnerRow& row) const;
  // What the process holds itself, on GPUs, over all rows and all of its life.
  Counts totals() const;
  bool incomplete() const;

  // In the child of a fork, which has no CUDA state: forgets everything without taking the lock,
  // which a thread that is not there may hold.
  void after_fork();

 private:
  static constexpr std::size_t kSharedRow = kOwnersMax;

  // All of these: with lock_ held. Those that find say whether they did, and leave `index` alone
  // if not.
  bool find_row(const Owner& owner, std::size_t& index) const;
  bool find_free_row(std::size_t& index) const;
  std::size_t make_row(const Owner& owner, int device);
  void write_down(const Allocation& allocation, std::size_t row);
  int device_of(const Allocation& allocation, std::size_t row) const;
  Record record_of(const Allocation& allocation, std::size_t row);
  void count(const Record& record, std::uint64_t allocations);
  void discount(const Record& record);
  void uncount(const Record& record);  // as that, but for its device's account
  void charge(int device, std::uint64_t more, std::uint64_t less);
  void charge(const Record& record);
  void discharge(const Record& record);
  void learn_size(Record& record, std::uint64_t bytes);
  void drop_handle_mapping(const Mapping& mapping);
  void unmap_step_by_step(std::uint64_t begin, std::uint64_t end, Birth before);
  void drop_records_of(const Owner& owner, Birth before);
  bool is_ours(const Record& record) const;
  Record* find(Space space, std::uint64_t id) const;

  mutable os::FutexLock lock_;  // guards everything below
  MapPages map_;
  bool incomplete_ = false;
  Birth births_ = 0;
  std::uint64_t mapping_bits_ = 0;  // every begin and size of a mapping so far, or-ed
  SlotTable<Record> records_;
  SlotTable<Mapping> mappings_;
  std::uint64_t primaries_[kDevicesMax] = {};
  OwnerRow rows_[kOwnersMax + 1];
  Counts totals_;
  std::uint64_t charged_[kDevicesMax] = {};
  std::uint64_t* kept_at_[kDevicesMax] = {};
  Pieces pieces_;
};

// The books of this process.
Books& books();

void books_after_fork();

}  // namespace nvs::interposer::memory
