// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/shared_pieces.h"

#include <utility>

#include "interposer/gate/gate.h"
#include "interposer/memory/account.h"
#include "interposer/memory/books.h"
#include "interposer/memory/piece_names.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/memory.h"
#include "interposer/session/session.h"

namespace nvs::interposer::memory {

void goes_by_handle(Space space, std::uint64_t id, const void* handle, std::size_t size) {
  if (!session::has_any_daemon()) return;
  const libc::NoCancel no_cancel;
  account::share(space, id, piece_name_of(handle, size));
}

void goes_by_file(Space space, std::uint64_t id, int file) {
  if (!session::has_any_daemon()) return;
  const libc::NoCancel no_cancel;
  const PieceName name = account::share(space, id, new_piece_name());
  if (name != 0) write_tag(file, {name, books().piece_bytes(name)});
}

HeldPiece::~HeldPiece() {
  if (name_ != 0) books().drop_piece(name_);
}

bool HeldPiece::take(int gpu, PieceName name, std::uint64_t bytes) {
  const bool is_of_any = gpu >= 0 && gpu < gate::kGpusMax;
  if (name == 0 || !session::has_any_daemon() || !is_of_any) return true;
  const libc::NoCancel no_cancel;
  session::gpu_seen(gpu);    // it needs no context, so that the daemon may not have heard of it
  session::has_daemon(gpu);  // the account comes before its word
  if (account::hold(gpu, name, bytes) == account::Verdict::over) return false;
  name_ = name;
  return true;
}

bool HeldPiece::take_file(int gpu, int file) {
  if (!session::has_any_daemon()) return true;
  const libc::NoCancel no_cancel;
  FileTag tag;
  // Of two who come at once, both go by the one that is read first.
  if (!read_tag(file, tag)) {
    if (write_tag(file, {new_piece_name(), 0})) read_tag(file, tag);
  }
  return take(gpu, tag.name, tag.bytes);
}

std::uint64_t HeldPiece::bytes() const { return books().piece_bytes(name_); }

PieceName HeldPiece::hand_over() { return std::exchange(name_, 0); }

bool may_be_mapped(CUmemGenericAllocationHandle handle, std::uint64_t bytes) {
  if (!session::has_any_daemon()) return true;
  const libc::NoCancel no_cancel;
  PieceName name = 0;
  int device = 0;
  if (!books().find_unsized(handle, name, device)) return true;
  return account::learn_size(device, name, bytes) != account::Verdict::over;
}

}  // namespace nvs::interposer::memory
