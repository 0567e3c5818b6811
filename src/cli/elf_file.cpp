// SPDX-License-Identifier: Apache-2.0
#include "cli/elf_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

namespace nvs::cli {
namespace {

constexpr std::uint8_t kOurBits = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr std::uint8_t kOurByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

constexpr Error kNotElf{Errc::kInvalidInput, 0, "not an ELF file"};
constexpr Error kCutShort{Errc::kInvalidInput, 0, "an ELF file that is cut short or damaged"};

using Bytes = std::span<const std::byte>;

// Every read is checked: the file may be anything.
template <class T>
Result<T> read_at(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return tl::unexpected(kCutShort);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

struct Segments {
  std::vector<ElfW(Phdr)> loaded;
  std::optional<ElfW(Phdr)> dynamic;
  bool has_interpreter = false;
};

Result<Segments> read_segments(Bytes bytes, const ElfW(Ehdr) & header) {
  Segments segments;
  if (header.e_phnum > 0 && header.e_phentsize != sizeof(ElfW(Phdr))) {
    return tl::unexpected(kCutShort);
  }
  for (std::uint64_t index = 0; index < header.e_phnum; ++index) {
    const auto segment =
        NVS_TRY(read_at<ElfW(Phdr)>(bytes, header.e_phoff + index * sizeof(ElfW(Phdr))));
    if (segment.p_type == PT_LOAD) segments.loaded.push_back(segment);
    if (segment.p_type == PT_DYNAMIC) segments.dynamic = segment;
    if (segment.p_type == PT_INTERP) segments.has_interpreter = true;
  }
  return segments;
}

// The dynamic section speaks in addresses; where these bytes are in the file.
Result<Bytes> bytes_at_address(Bytes bytes, const Segments& segments, std::uint64_t address,
                               std::uint64_t size) {
  for (const ElfW(Phdr) & segment : segments.loaded) {
    if (address < segment.p_vaddr || address - segment.p_vaddr > segment.p_filesz) continue;
    const std::uint64_t inside = address - segment.p_vaddr;
    if (size > segment.p_filesz - inside || segment.p_offset > bytes.size() ||
        bytes.size() - segment.p_offset < segment.p_filesz) {
      break;
    }
    return bytes.subspan(segment.p_offset + inside, size);
  }
  return tl::unexpected(kCutShort);
}

Result<std::string> string_at(Bytes strings, std::uint64_t offset) {
  if (offset >= strings.size()) return tl::unexpected(kCutShort);
  const Bytes rest = strings.subspan(offset);
  const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
  if (end == rest.end()) return tl::unexpected(kCutShort);
  return std::string(reinterpret_cast<const char*>(rest.data()),
                     static_cast<std::size_t>(end - rest.begin()));
}

Result<void> read_dynamic(Bytes bytes, const Segments& segments, ElfFile& file) {
  std::vector<std::uint64_t> needed;
  std::uint64_t strings_address = 0;
  std::uint64_t strings_size = 0;
  const std::uint64_t entries = segments.dynamic->p_filesz / sizeof(ElfW(Dyn));
  for (std::uint64_t index = 0; index < entries; ++index) {
    const auto entry =
        NVS_TRY(read_at<ElfW(Dyn)>(bytes, segments.dynamic->p_offset + index * sizeof(ElfW(Dyn))));
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) needed.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) strings_address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) strings_size = entry.d_un.d_val;
    if (entry.d_tag == DT_SONAME) file.has_soname = true;
    if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0) file.program = true;
  }
  if (needed.empty()) return {};
  const Bytes strings = NVS_TRY(bytes_at_address(bytes, segments, strings_address, strings_size));
  for (const std::uint64_t offset : needed) {
    file.needed.push_back(NVS_TRY(string_at(strings, offset)));
  }
  return {};
}

}  // namespace

std::string machine_name(const ElfMachine& machine) {
  const char* bits = machine.bits == kOurBits     ? ""
                     : machine.bits == ELFCLASS32 ? " (32 bit)"
                                                  : " (64 bit)";
  switch (machine.machine) {
    case EM_386:
      return fmt::format("i386{}", bits);
    case EM_X86_64:
      return fmt::format("x86-64{}", bits);
    case EM_ARM:
      return fmt::format("arm{}", bits);
    case EM_AARCH64:
      return fmt::format("aarch64{}", bits);
    default:
      return fmt::format("ELF machine {}{}", machine.machine, bits);
  }
}

Result<ElfFile> read_elf(Bytes bytes) {
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    return tl::unexpected(kNotElf);
  }
  const auto ident = NVS_TRY((read_at<std::array<std::uint8_t, EI_NIDENT>>(bytes, 0)));
  auto machine = NVS_TRY(read_at<std::uint16_t>(bytes, offsetof(ElfW(Ehdr), e_machine)));
  if (ident[EI_DATA] != kOurByteOrder) machine = __builtin_bswap16(machine);
  ElfFile file;
  file.machine = {ident[EI_CLASS], ident[EI_DATA], machine};
  file.native = ident[EI_CLASS] == kOurBits && ident[EI_DATA] == kOurByteOrder;
  if (!file.native) return file;
  const auto header = NVS_TRY(read_at<ElfW(Ehdr)>(bytes, 0));
  file.shared_object = header.e_type == ET_DYN;
  file.program = header.e_type == ET_EXEC;
  const Segments segments = NVS_TRY(read_segments(bytes, header));
  file.has_interpreter = segments.has_interpreter;
  if (segments.dynamic) NVS_TRY(read_dynamic(bytes, segments, file));
  return file;
}

}  // namespace nvs::cli
