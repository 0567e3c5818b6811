// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/piece_names.h"

#include "interposer/debug/text.h"
#include "os/linux_calls.h"

namespace nvs::interposer::memory {
namespace {

// Names are places in a file, which are below 2^63 with their length; the highest bits say that it
// is one of ours.
constexpr unsigned kMarkShift = 48;
constexpr std::uint64_t kMark = std::uint64_t{0x6e76} << kMarkShift;  // "nv"
constexpr std::uint64_t kRandom = (std::uint64_t{1} << kMarkShift) - 1;
constexpr std::uint64_t kBytesMost = std::uint64_t{1} << 56U;

constexpr PieceName name_from(std::uint64_t bits) { return kMark | (bits & kRandom); }
constexpr bool is_name(std::uint64_t number) { return (number & ~kRandom) == kMark; }

// glibc hides it from those who do not ask for all of GNU.
constexpr int kSetLockOfFile = 37;  // F_OFD_SETLK

bool read_number(const char*& at, const char* end, std::uint64_t& number) {
  while (at != end && *at == ' ') ++at;
  const char* const begin = at;
  for (number = 0; at != end && *at >= '0' && *at <= '9'; ++at) {
    number = number * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return at != begin;
}

bool begins_with(const char* at, const char* end, const char* word) {
  for (; *word != '\0'; ++word, ++at) {
    if (at == end || *at != *word) return false;
  }
  return true;
}

// "lock: 1: OFDLCK ADVISORY READ -1 00:06:142 FIRST LAST"
bool read_lock(const char* at, const char* end, FileTag& tag) {
  if (!begins_with(at, end, "lock:")) return false;
  const char* word = end;
  for (int words = 0; words < 2; ++words) {  // the last two
    while (word != at && word[-1] == ' ') --word;
    while (word != at && word[-1] != ' ') --word;
  }
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (!read_number(word, end, first) || !read_number(word, end, last)) return false;
  if (word != end || !is_name(first) || last < first || last - first > kBytesMost) return false;
  tag = {first, last - first};
  return true;
}

}  // namespace

PieceName new_piece_name() {
  std::uint64_t bits = 0;
  const long got = os::system_call(SYS_getrandom, os::argument(&bits), sizeof bits, 0);
  return got == sizeof bits ? name_from(bits) : 0;
}

// FNV-1a, and its upper bits folded in.
PieceName piece_name_of(const void* data, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3U;
  }
  return name_from(hash ^ (hash >> kMarkShift));
}

bool find_tag(const char* text, std::size_t size, FileTag& tag) {
  const char* const end = text + size;
  for (const char* line = text; line < end;) {
    const char* stop = line;
    while (stop != end && *stop != '\n') ++stop;
    if (read_lock(line, stop, tag)) return true;
    line = stop + 1;
  }
  return false;
}

bool read_tag(int file, FileTag& tag) {
  debug::Text<64> path;
  path.append("/proc/self/fdinfo/").signed_number(file);
  const long info = os::open_file(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (info < 0) return false;
  char text[1024];
  const long size = os::read_file(static_cast<int>(info), text, sizeof text);
  os::close_file(static_cast<int>(info));
  return size > 0 && find_tag(text, static_cast<std::size_t>(size), tag);
}

bool write_tag(int file, const FileTag& tag) {
  if (tag.name == 0 || tag.bytes > kBytesMost) return false;
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(tag.name);
  lock.l_len = static_cast<off_t>(tag.bytes) + 1;
  return os::system_call(SYS_fcntl, file, kSetLockOfFile, os::argument(&lock)) == 0;
}

}  // namespace nvs::interposer::memory
