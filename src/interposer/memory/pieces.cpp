// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/pieces.h"

#include <atomic>

namespace nvs::interposer::memory {
namespace {

using wire::AccountPiece;
using wire::AccountPieces;

// Processes come to the same places at any time: who adds holds the account's lock, but that can be
// taken away, and who drops does without.
template <class Word>
Word load(const Word& word) {
  return std::atomic_ref(const_cast<Word&>(word)).load(std::memory_order_seq_cst);
}
template <class Word>
void store(Word& word, Word value) {
  std::atomic_ref(word).store(value, std::memory_order_seq_cst);
}

std::uint64_t bit_of(std::uint32_t slot) { return std::uint64_t{1} << (slot % wire::kHolderBits); }
std::uint64_t& word_of(AccountPiece& piece, std::uint32_t slot) {
  return piece.holders[slot / wire::kHolderBits];
}

bool is_held(const AccountPiece& piece) {
  for (const std::uint64_t& word : piece.holders) {
    if (load(word) != 0) return true;
  }
  return false;
}

std::uint32_t lower_of(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
std::uint32_t places_in(const AccountPieces& file) {
  return lower_of(load(file.places), wire::kAccountPieces);
}
std::uint32_t used_in(const AccountPieces& file) {
  return lower_of(load(file.used), places_in(file));
}

// Nobody may count a place without us once we hold it, and who comes first is followed by others.
void set_used(AccountPieces& file, std::uint32_t used) {
  std::uint32_t seen = load(file.used);
  while (seen < used && !std::atomic_ref(file.used).compare_exchange_weak(seen, used)) {
  }
}

}  // namespace

std::uint64_t bytes_in_pieces(const AccountPieces& file, int number, std::uint64_t most) {
  const std::uint32_t used = used_in(file);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < used; ++i) {
    const AccountPiece& piece = file.piece[i];
    if (load(piece.gpu) != static_cast<std::uint64_t>(number) || !is_held(piece)) continue;
    const std::uint64_t bytes = load(piece.bytes);
    if (bytes > most - sum) return most;
    sum += bytes;
  }
  return sum;
}

Pieces::Piece* Pieces::find(PieceName name) const {
  Piece wanted;
  wanted.name = name;
  return name != 0 ? held_.find(wanted) : nullptr;
}

// The place of that name, or a free one; its own bit is set there already.
std::int32_t Pieces::take_place(const Piece& piece, Held& held) {
  std::int32_t free = kNowhere;
  const std::uint32_t places = places_in(*file_);
  const std::uint32_t used = used_in(*file_);
  for (std::uint32_t i = 0; i < used; ++i) {
    AccountPiece& one = file_->piece[i];
    const bool is_it = load(one.name) == piece.name;
    if (!is_it && (free != kNowhere || is_held(one))) continue;
    if (!is_it) {
      free = static_cast<std::int32_t>(i);
      continue;
    }
    held = is_held(one) ? Held::joined : Held::first;
    std::atomic_ref(word_of(one, slot_)).fetch_or(bit_of(slot_));
    if (load(one.name) == piece.name) return static_cast<std::int32_t>(i);
    std::atomic_ref(word_of(one, slot_)).fetch_and(~bit_of(slot_));  // taken by another name
  }
  if (free == kNowhere && used < places) free = static_cast<std::int32_t>(used);
  if (free == kNowhere) return kNowhere;
  AccountPiece& one = file_->piece[free];
  PieceName before = load(one.name);
  if (!std::atomic_ref(one.name).compare_exchange_strong(before, piece.name)) return kNowhere;
  store(one.bytes, std::uint64_t{0});
  std::atomic_ref(word_of(one, slot_)).fetch_or(bit_of(slot_));
  held = Held::first;
  set_used(*file_, static_cast<std::uint32_t>(free) + 1);
  return free;
}

Held Pieces::enter(Piece& piece) {
  if (piece.place != kNowhere) return Held::joined;
  const int number = piece.device >= 0 && piece.device < kDevicesMax ? numbers_[piece.device] : 0;
  if (file_ == nullptr || number == 0) return Held::nowhere;
  Held held = Held::nowhere;
  piece.place = take_place(piece, held);
  if (piece.place == kNowhere) return Held::nowhere;
  AccountPiece& one = file_->piece[piece.place];
  if (held == Held::first) {
    store(one.gpu, static_cast<std::uint64_t>(number - 1));
    store(one.bytes, piece.bytes);
  } else {
    piece.bytes = load(one.bytes);
  }
  return held;
}

void Pieces::leave(Piece& piece) {
  if (piece.place == kNowhere) return;
  AccountPiece& one = file_->piece[piece.place];
  if (load(one.name) == piece.name) {
    std::atomic_ref(word_of(one, slot_)).fetch_and(~bit_of(slot_));
  }
  piece.place = kNowhere;
}

Held Pieces::hold(PieceName name, int device, std::uint64_t bytes, MapPages map) {
  if (name == 0) return Held::nowhere;
  if (Piece* known = find(name)) {
    ++known->holds;
    return enter(*known);
  }
  Piece piece;
  piece.name = name;
  piece.bytes = bytes;
  piece.device = device;
  piece.holds = 1;
  Piece* const added = held_.insert(piece, map);
  return added != nullptr ? enter(*added) : Held::nowhere;
}

void Pieces::drop(PieceName name) {
  Piece* const piece = find(name);
  if (piece == nullptr || --piece->holds != 0) return;
  leave(*piece);
  held_.erase(piece);
}

std::uint64_t Pieces::bytes_of(PieceName name) const {
  const Piece* const piece = find(name);
  if (piece == nullptr) return 0;
  return piece->place != kNowhere ? load(file_->piece[piece->place].bytes) : piece->bytes;
}

bool Pieces::learn_bytes(PieceName name, std::uint64_t bytes) {
  Piece* const piece = find(name);
  if (piece == nullptr || bytes_of(name) != 0) return false;
  piece->bytes = bytes;
  if (piece->place != kNowhere) store(file_->piece[piece->place].bytes, bytes);
  return true;
}

void Pieces::forget_bytes(PieceName name) {
  Piece* const piece = find(name);
  if (piece == nullptr) return;
  piece->bytes = 0;
  if (piece->place != kNowhere) store(file_->piece[piece->place].bytes, std::uint64_t{0});
}

void Pieces::keep_at(AccountPieces* file, std::uint32_t slot) {
  file_ = file;
  slot_ = slot;
  for (std::size_t i = 0; i < held_.capacity(); ++i) {
    Piece& piece = held_.at(i);
    piece.place = kNowhere;
    if (piece.used()) enter(piece);
  }
}

void Pieces::number(int device, int number) {
  if (device < 0 || device >= kDevicesMax) return;
  numbers_[device] = number + 1;
  for (std::size_t i = 0; i < held_.capacity(); ++i) {
    Piece& piece = held_.at(i);
    if (!piece.used() || piece.device != device) continue;
    if (number == kNoNumber) {
      leave(piece);
    } else if (enter(piece) == Held::joined) {
      store(file_->piece[piece.place].gpu, static_cast<std::uint64_t>(number));
    }
  }
}

}  // namespace nvs::interposer::memory
