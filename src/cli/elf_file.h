// SPDX-License-Identifier: Apache-2.0
// What the dynamic loader will make of a file, read from its bytes: a library for another machine
// it would skip with a mere warning, and a statically linked program it never gets to see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace nvs::cli {

// Whom a file is for. Two files can be in one process only if these are the same.
struct ElfMachine {
  std::uint8_t bits;  // ELFCLASS32 or ELFCLASS64
  std::uint8_t byte_order;
  std::uint16_t machine;  // EM_X86_64 and so on

  bool operator==(const ElfMachine&) const = default;
};

// For messages: "x86-64", "aarch64", "i386 (32 bit)".
std::string machine_name(const ElfMachine& machine);

struct ElfFile {
  ElfMachine machine{};
  // The rest is only read from files with our own word size and byte order.
  bool native = false;
  bool shared_object = false;  // a library or a position-independent program
  bool program = false;        // marked as one, or fixed to its address
  bool has_interpreter = false;
  bool has_soname = false;
  std::vector<std::string> needed;

  // Nothing loads libraries into such a program. The loader itself looks like one, but for its
  // name.
  bool is_static() const { return native && !has_interpreter && !has_soname; }
};

// kInvalidInput: not an ELF file, or one that is cut short.
Result<ElfFile> read_elf(std::span<const std::byte> bytes);

}  // namespace nvs::cli
