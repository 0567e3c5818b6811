// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/account.h"

#include <atomic>

#include "interposer/gate/gate.h"
#include "interposer/memory/account_lock.h"
#include "interposer/memory/books.h"
#include "wire/memory_account.h"

namespace nvs::interposer::account {
namespace {

using memory::books;
using memory::Held;
using memory::PieceName;
using wire::AccountFile;

// Also where the file ends before: an older daemon's says that it has no places for pieces.
constexpr std::size_t kMappedBytes = sizeof(wire::AccountFileWithPieces);

constexpr int kNoNumber = -1;
// Who comes while the process moves from one file to another looks again so often.
constexpr int kTries = 1000;
constexpr std::int64_t kLookAgain_ns = 100'000;

// Where the latest file is mapped. A later one takes the same addresses, so that whoever reads
// there needs no lock.
constinit std::atomic<AccountFile*> mapped{nullptr};
constinit std::atomic<std::uint32_t> own_slot{0};
constinit std::atomic<int> numbers[gate::kGpusMax] = {};  // one more than it is; 0: unknown
// The file is still mapped, but no daemon's any more. Of the thread that listens.
constinit bool is_left = false;

template <class Word>
Word read(const Word& word) {
  return std::atomic_ref(const_cast<Word&>(word)).load(std::memory_order_seq_cst);
}

int number_of(int gpu) { return numbers[gpu].load(std::memory_order_acquire) - 1; }

std::uint64_t* place_in(AccountFile* file, std::uint32_t slot, int number) {
  return number == kNoNumber ? nullptr : &file->slot[slot].used[number];
}

// The file and the place in it that belong to a GPU.
struct Page {
  AccountFile* file = nullptr;
  std::uint32_t slot = 0;
  int number = kNoNumber;

  std::uint64_t limit() const { return read(file->limit[number]); }
  std::uint64_t* place() const { return place_in(file, slot, number); }
};

bool find_page(int gpu, Page& page) {
  AccountFile* const file = mapped.load(std::memory_order_acquire);
  if (file == nullptr || gpu < 0 || gpu >= gate::kGpusMax) return false;
  page = {file, own_slot.load(std::memory_order_acquire), number_of(gpu)};
  return page.number != kNoNumber;
}

wire::AccountPieces& pieces_behind(const AccountFile& file) {
  auto* const whole = reinterpret_cast<const wire::AccountFileWithPieces*>(&file);
  return const_cast<wire::AccountPieces&>(whole->pieces);
}

// What of `limit` nobody has. Never adds up: slots are the words of others.
bool is_within(const AccountFile& file, int number, std::uint64_t limit, std::uint64_t& left) {
  const std::uint32_t used = read(file.slots);
  const std::uint32_t slots = used < wire::kAccountSlots ? used : wire::kAccountSlots;
  left = limit;
  for (std::uint32_t i = 0; i < slots; ++i) {
    const std::uint64_t has = read(file.slot[i].used[number]);
    if (has > left) {
      left = 0;
      return false;
    }
    left -= has;
  }
  // More than is left, if there is any such number, is enough to know.
  const std::uint64_t shared = memory::bytes_in_pieces(pieces_behind(file), number, left + 1);
  const bool is_so = shared <= left;
  left = is_so ? left - shared : 0;
  return is_so;
}

// False: the books are kept somewhere else by now.
bool reserve_in(const Page& page, int gpu, std::uint64_t bytes, Verdict& verdict) {
  const FileLock lock(page.file->lock, page.slot + 1);
  const std::uint64_t limit = page.limit();
  verdict = Verdict::over;
  if (bytes > limit) return true;
  std::uint64_t left = 0;
  const bool is_written = books().reserve(gpu, bytes) == page.place();
  if (is_written && is_within(*page.file, page.number, limit, left)) {
    verdict = Verdict::reserved;
  } else {
    books().cancel({gpu, bytes});
  }
  return is_written;
}

// Nobody may find its end by touching what is behind it.
bool is_whole(int file) {
  const long size = os::system_call(SYS_lseek, file, 0, SEEK_END);
  return size >= 0 && static_cast<std::uint64_t>(size) >= sizeof(AccountFile);
}

long map_file(int file, void* where, int flags) {
  const long at = os::system_call(SYS_mmap, os::argument(where), kMappedBytes,
                                  PROT_READ | PROT_WRITE, MAP_SHARED | flags, file, 0);
  constexpr long kMaxErrno = 4095;
  if (at < 0 && at >= -kMaxErrno) return 0;
  os::system_call(SYS_madvise, at, kMappedBytes, MADV_DONTFORK);
  return at;
}

void keep_all_in(AccountFile* file, std::uint32_t slot) {
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    books().keep_at(gpu, place_in(file, slot, number_of(gpu)));
  }
  books().keep_pieces_at(&pieces_behind(*file), slot);
}

// What is in its place when it is left stays: to those who are still there it is the latest word.
void move_to(int file, AccountFile* fresh, std::uint32_t slot) {
  AccountFile* const before = mapped.load(std::memory_order_relaxed);
  keep_all_in(fresh, slot);
  const bool is_moved = before != nullptr && map_file(file, before, MAP_FIXED) != 0;
  own_slot.store(slot, std::memory_order_release);
  if (!is_moved) {
    mapped.store(fresh, std::memory_order_release);
    return;
  }
  keep_all_in(before, slot);
  os::unmap_pages(fresh, kMappedBytes);
}

// With the number that the GPU had there. Where GPUs change their numbers, another one may have
// taken it already, whose bytes were written over until now.
void leave(int gpu, std::uint64_t* place) {
  if (place == nullptr) return;
  for (int other = 0; other < gate::kGpusMax; ++other) {
    if (other == gpu || number_of(other) != number_of(gpu)) continue;
    books().keep_at(other, place);
    return;
  }
  std::atomic_ref(*place).store(0, std::memory_order_seq_cst);
}

}  // namespace

void file_came(int file, std::uint32_t slot, std::uint64_t bytes) {
  const bool is_sane = bytes >= sizeof(AccountFile) && slot < wire::kAccountSlots;
  AccountFile* const fresh = is_sane ? map(file) : nullptr;
  if (fresh != nullptr) {
    is_left = false;
    move_to(file, fresh, slot);
  }
  os::close_file(file);
}

void gpu_numbered(int gpu, std::uint32_t number) {
  if (is_left || gpu < 0 || gpu >= gate::kGpusMax || number >= wire::kAccountGpus) return;
  const auto told = static_cast<int>(number);
  if (number_of(gpu) == told) return;
  AccountFile* const file = mapped.load(std::memory_order_relaxed);
  if (file != nullptr) {
    const std::uint32_t slot = own_slot.load(std::memory_order_relaxed);
    leave(gpu, books().keep_at(gpu, place_in(file, slot, told)));
  }
  numbers[gpu].store(told + 1, std::memory_order_release);
  books().number_pieces(gpu, told);
}

void gpu_unknown(int gpu) {
  if (gpu < 0 || gpu >= gate::kGpusMax) return;
  leave(gpu, books().keep_at(gpu, nullptr));
  numbers[gpu].store(0, std::memory_order_release);
  books().number_pieces(gpu, kNoNumber);
}

void daemon_has_none() {
  is_left = true;
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    numbers[gpu].store(0, std::memory_order_release);
    books().keep_at(gpu, nullptr);
    books().number_pieces(gpu, kNoNumber);
  }
}

bool is_any() { return mapped.load(std::memory_order_acquire) != nullptr; }

Verdict reserve(int gpu, std::uint64_t bytes) {
  for (int i = 0; i < kTries; ++i) {
    Page page;
    if (bytes == 0 || !find_page(gpu, page)) return Verdict::unlimited;
    if (page.limit() == wire::kUnlimited) return Verdict::unlimited;
    Verdict verdict = Verdict::unlimited;
    if (reserve_in(page, gpu, bytes, verdict)) return verdict;
    os::sleep_ns(kLookAgain_ns);
  }
  return Verdict::unlimited;
}

// Only what is new to the tenant can be too much for it.
Verdict hold(int gpu, PieceName name, std::uint64_t bytes) {
  Page page;
  if (!find_page(gpu, page)) {
    books().hold_piece(name, gpu, bytes);
    return Verdict::unlimited;
  }
  const FileLock lock(page.file->lock, page.slot + 1);
  const Held held = books().hold_piece(name, gpu, bytes);
  if (held == Held::nowhere) return Verdict::unlimited;
  const std::uint64_t limit = page.limit();
  std::uint64_t left = 0;
  const bool is_free = held == Held::joined || limit == wire::kUnlimited || bytes == 0;
  if (is_free || is_within(*page.file, page.number, limit, left)) return Verdict::reserved;
  books().drop_piece(name);
  return Verdict::over;
}

Verdict learn_size(int gpu, PieceName name, std::uint64_t bytes) {
  Page page;
  if (!find_page(gpu, page)) {
    books().learn_piece_bytes(name, bytes);
    return Verdict::unlimited;
  }
  const FileLock lock(page.file->lock, page.slot + 1);
  if (!books().learn_piece_bytes(name, bytes)) return Verdict::unlimited;
  const std::uint64_t limit = page.limit();
  std::uint64_t left = 0;
  if (limit == wire::kUnlimited || is_within(*page.file, page.number, limit, left)) {
    return Verdict::reserved;
  }
  books().forget_piece_bytes(name);
  return Verdict::over;
}

PieceName share(memory::Space space, std::uint64_t id, PieceName name) {
  memory::Record record;
  int device = 0;
  Page page;
  if (!books().find_record(space, id, record, device)) return 0;
  if (!find_page(record.device, page)) return books().share(space, id, name);
  // With the lock held nobody sees it twice, in its old place and in the new one.
  const FileLock lock(page.file->lock, page.slot + 1);
  return books().share(space, id, name);
}

bool find_limit(int gpu, Limit& limit) {
  Page page;
  return find_page(gpu, page) && find_limit(*page.file, page.number, limit);
}

bool as_if_limited(int gpu, std::uint64_t bytes, Limit& limit) {
  Page page;
  if (!find_page(gpu, page)) return false;
  limit = limit_of(*page.file, page.number, bytes);
  return true;
}

wire::AccountFile* map(int file) {
  return is_whole(file) ? reinterpret_cast<AccountFile*>(map_file(file, nullptr, 0)) : nullptr;
}

void unmap(wire::AccountFile* file) { os::unmap_pages(file, kMappedBytes); }

bool find_limit(const wire::AccountFile& file, int number, Limit& limit) {
  const std::uint64_t bytes = read(file.limit[number]);
  if (bytes == wire::kUnlimited) return false;
  limit = limit_of(file, number, bytes);
  return true;
}

Limit limit_of(const wire::AccountFile& file, int number, std::uint64_t bytes) {
  Limit limit{bytes};
  is_within(file, number, bytes, limit.left);
  return limit;
}

void start_over_in_child() {
  mapped.store(nullptr, std::memory_order_relaxed);  // children do not have it
  own_slot.store(0, std::memory_order_relaxed);
  is_left = false;
  for (auto& number : numbers) number.store(0, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::account
