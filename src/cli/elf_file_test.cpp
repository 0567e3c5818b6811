// SPDX-License-Identifier: Apache-2.0
#include "cli/elf_file.h"

#include <cstring>

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include "cli/mapped_file.h"

namespace nvs::cli {
namespace {

// A file as the linker would write it, down to what read_elf looks at: a header, three segments,
// a dynamic section and its strings. It is loaded at an address that is not its place in the file.
struct FakeElf {
  static constexpr ElfW(Addr) kAddress = 0x10000;

  ElfW(Ehdr) header{};
  ElfW(Phdr) segments[3]{};
  ElfW(Dyn) dynamic[8]{};
  char strings[40] = "\0libasan.so.8\0libc.so.6\0libmine.so";

  FakeElf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_phoff = offsetof(FakeElf, segments);
    header.e_phentsize = sizeof(ElfW(Phdr));
    header.e_phnum = 3;
    segments[0].p_type = PT_LOAD;
    segments[0].p_vaddr = kAddress;
    segments[0].p_filesz = sizeof(FakeElf);
    segments[1].p_type = PT_DYNAMIC;
    segments[1].p_offset = offsetof(FakeElf, dynamic);
    segments[1].p_filesz = sizeof dynamic;
    segments[2].p_type = PT_INTERP;
    entry(0, DT_NEEDED, 1);
    entry(1, DT_NEEDED, 14);
    entry(2, DT_STRTAB, kAddress + offsetof(FakeElf, strings));
    entry(3, DT_STRSZ, sizeof strings);
  }

  void entry(std::size_t index, ElfW(Sxword) tag, ElfW(Xword) value) {
    dynamic[index].d_tag = tag;
    dynamic[index].d_un.d_val = value;
  }

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(this, 1)); }
};

TEST(ElfFile, ADynamicProgram) {
  const FakeElf fake;
  const auto file = read_elf(fake.bytes());
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_TRUE(file->native && file->shared_object && file->has_interpreter);
  EXPECT_FALSE(file->program || file->has_soname || file->is_static());
  EXPECT_EQ(file->machine.machine, EM_X86_64);
  EXPECT_EQ(file->needed, (std::vector<std::string>{"libasan.so.8", "libc.so.6"}));
}

TEST(ElfFile, MarksOfLibrariesAndPrograms) {
  FakeElf library;
  library.entry(4, DT_SONAME, 24);
  EXPECT_TRUE(read_elf(library.bytes())->has_soname);
  FakeElf program;
  program.entry(4, DT_FLAGS_1, DF_1_PIE | DF_1_NOW);
  EXPECT_TRUE(read_elf(program.bytes())->program);
  FakeElf fixed;
  fixed.header.e_type = ET_EXEC;
  EXPECT_TRUE(read_elf(fixed.bytes())->program);
  EXPECT_FALSE(read_elf(fixed.bytes())->shared_object);
}

TEST(ElfFile, StaticIsWithoutInterpreterAndName) {
  FakeElf fake;
  fake.header.e_phnum = 2;
  EXPECT_TRUE(read_elf(fake.bytes())->is_static());
  fake.entry(4, DT_SONAME, 24);
  EXPECT_FALSE(read_elf(fake.bytes())->is_static());
  FakeElf fixed;
  fixed.header.e_type = ET_EXEC;
  fixed.header.e_phnum = 1;
  EXPECT_TRUE(read_elf(fixed.bytes())->is_static());
}

TEST(ElfFile, OfAnotherMachineOnlyTheHeaderIsRead) {
  FakeElf fake;
  fake.header.e_ident[EI_CLASS] = ELFCLASS32;
  fake.header.e_machine = EM_386;
  fake.header.e_phentsize = 1;
  const auto file = read_elf(fake.bytes());
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->native || file->is_static());
  EXPECT_EQ(machine_name(file->machine), "i386 (32 bit)");
}

TEST(ElfFile, TheMachineIsReadInItsOwnByteOrder) {
  FakeElf fake;
  fake.header.e_ident[EI_DATA] = ELFDATA2MSB;
  fake.header.e_machine = __builtin_bswap16(EM_AARCH64);
  const auto file = read_elf(fake.bytes());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->machine.machine, EM_AARCH64);
  EXPECT_FALSE(file->native);
}

TEST(ElfFile, OtherFilesAreNone) {
  const std::string script = "#!/bin/sh\n";
  for (const std::string& text : {script, std::string(),
                                  std::string("\x7f"
                                              "EL")}) {
    const auto file = read_elf(std::as_bytes(std::span(text)));
    ASSERT_FALSE(file);
    EXPECT_STREQ(file.error().what, "not an ELF file");
  }
}

TEST(ElfFile, CutShortAnywhereItIsAnError) {
  const FakeElf fake;
  for (std::size_t size = 0; size < sizeof fake; ++size) {
    EXPECT_FALSE(read_elf(fake.bytes().first(size))) << size;
  }
}

TEST(ElfFile, NumbersThatLeadOutOfTheFileAreErrors) {
  const auto is_refused = [](auto damage) {
    FakeElf fake;
    damage(fake);
    return !read_elf(fake.bytes());
  };
  constexpr auto kHuge = ~ElfW(Off){0};
  EXPECT_TRUE(is_refused([](FakeElf& fake) { fake.header.e_phoff = kHuge - 8; }));
  EXPECT_TRUE(is_refused([](FakeElf& fake) { fake.header.e_phentsize = 1; }));
  EXPECT_TRUE(is_refused([](FakeElf& fake) { fake.segments[1].p_offset = kHuge; }));
  EXPECT_TRUE(is_refused([](FakeElf& fake) { fake.segments[0].p_offset = kHuge; }));
  EXPECT_TRUE(is_refused([](FakeElf& fake) { fake.segments[0].p_filesz = kHuge; }));
  EXPECT_TRUE(is_refused([](FakeElf& fake) { fake.entry(0, DT_NEEDED, kHuge); }));
  EXPECT_TRUE(is_refused([](FakeElf& fake) { fake.entry(2, DT_STRTAB, kHuge); }));
  EXPECT_TRUE(is_refused([](FakeElf& fake) { fake.entry(2, DT_STRTAB, 8); }));
  EXPECT_TRUE(is_refused([](FakeElf& fake) { fake.entry(3, DT_STRSZ, kHuge); }));
  EXPECT_TRUE(is_refused([](FakeElf& fake) { fake.entry(3, DT_STRSZ, 5); }));
}

TEST(ElfFile, ThisProgramNeedsItsLibc) {
  const auto bytes = MappedFile::open("/proc/self/exe");
  ASSERT_TRUE(bytes);
  const auto file = read_elf(bytes->bytes());
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->has_interpreter && file->program);
  EXPECT_NE(std::find(file->needed.begin(), file->needed.end(), "libc.so.6"), file->needed.end());
}

}  // namespace
}  // namespace nvs::cli
