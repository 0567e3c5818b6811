// SPDX-License-Identifier: Apache-2.0
// Memory that other processes can have too: exported, shared, or opened from elsewhere. In a
// tenant's account each such piece has a place of its own, and counts once for as long as any
// process of the tenant holds it, whoever made it (ADR-0030). Here is what this process holds. Of
// the books, whose lock guards it; it knows no other.
#pragma once

#include <cstdint>

#include "interposer/memory/slot_table.h"
#include "wire/memory_account.h"

namespace nvs::interposer::memory {

// The same in all processes that share a piece; 0: none.
using PieceName = std::uint64_t;

enum class Held : std::uint8_t {
  joined,   // it counts already, for this process or another one of the tenant
  first,    // it counts from now on
  nowhere,  // there is no account, or no place in it
};

class Pieces {
 public:
  static constexpr int kDevicesMax = 64;
  static constexpr int kNoNumber = -1;

  // Once more. Whoever was first has said how large it is; 0: that is not known yet.
  Held hold(PieceName name, int device, std::uint64_t bytes, MapPages map);
  void drop(PieceName name);

  // 0: nobody has said it, or it is not held.
  std::uint64_t bytes_of(PieceName name) const;
  // What nobody knew until now. False: it is known by now, or the piece is not held.
  bool learn_bytes(PieceName name, std::uint64_t bytes);
  void forget_bytes(PieceName name);

  // Where they are written from now on; null: nowhere. What is where they were until now stays.
  void keep_at(wire::AccountPieces* file, std::uint32_t slot);
  bool has_file() const { return file_ != nullptr; }
  // The number of a device in the account, or kNoNumber.
  void number(int device, int number);

  void forget() { *this = Pieces{}; }

 private:
  struct Piece {
    PieceName name = 0;
    std::uint64_t bytes = 0;
    std::int32_t device = 0;
    std::uint32_t holds = 0;
    std::int32_t place = kNowhere;  // in the file

    bool used() const { return name != 0; }
    std::uint64_t hash() const { return spread(name); }
    bool same_key(const Piece& other) const { return name == other.name; }
  };
  static constexpr std::int32_t kNowhere = -1;

  Piece* find(PieceName name) const;
  Held enter(Piece& piece);
  void leave(Piece& piece);
  std::int32_t take_place(const Piece& piece, Held& held);

  SlotTable<Piece> held_;
  wire::AccountPieces* file_ = nullptr;
  std::uint32_t slot_ = 0;
  std::int32_t numbers_[kDevicesMax] = {};  // one more than it is; 0: none
};

// What the pieces of a GPU are together that anybody holds; never more than `most`.
std::uint64_t bytes_in_pieces(const wire::AccountPieces& file, int number, std::uint64_t most);

}  // namespace nvs::interposer::memory
