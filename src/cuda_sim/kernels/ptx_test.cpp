// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/kernels/ptx.h"

#include <array>

#include <gtest/gtest.h>

namespace nvs::sim {
namespace {

const std::string kHead = ".version 6.0\n.target sm_75\n.address_size 64\n";

std::optional<PtxModule> parse(const std::string& body) { return parse_ptx(kHead + body); }

TEST(Ptx, EntryWithParametersLaidOutAsInC) {
  const auto module = parse(
      ".visible .entry mixed(\n .param .u8 a,\n .param .u64 b,\n .param .f32 c,\n"
      " .param .align 16 .b8 d[24],\n .param .u16 e)\n{ ret; }\n");
  ASSERT_TRUE(module);
  ASSERT_EQ(module->entries.size(), 1U);
  const PtxEntry& entry = module->entries[0];
  EXPECT_EQ(entry.name, "mixed");
  constexpr std::array<std::array<unsigned, 2>, 5> kLayout = {
      {{0, 1}, {8, 8}, {16, 4}, {32, 24}, {56, 2}}};
  ASSERT_EQ(entry.parameters.size(), kLayout.size());
  for (std::size_t i = 0; i < kLayout.size(); ++i) {
    EXPECT_EQ(entry.parameters[i].offset, kLayout[i][0]) << i;
    EXPECT_EQ(entry.parameters[i].size, kLayout[i][1]) << i;
  }
  EXPECT_EQ(entry.parameter_bytes, 58U);
}

TEST(Ptx, EntriesWithoutParameters) {
  const auto module = parse(".entry bare { ret; }\n.visible .entry empty() { ret; }");
  ASSERT_TRUE(module);
  ASSERT_EQ(module->entries.size(), 2U);
  EXPECT_EQ(module->entries[0].name, "bare");
  EXPECT_EQ(module->entries[1].name, "empty");
  for (const PtxEntry& entry : module->entries) EXPECT_TRUE(entry.parameters.empty());
}

TEST(Ptx, PointerParametersAndDirectivesBetween) {
  const auto module = parse(
      ".visible .entry k(\n\t.param .u64 .ptr .global .align 4 p,\r\n\t.param .u32 n\n)\n"
      ".maxntid 256, 1, 1\n{ ret; }");
  ASSERT_TRUE(module);
  const PtxEntry& entry = module->entries.at(0);
  ASSERT_EQ(entry.parameters.size(), 2U);
  EXPECT_EQ(entry.parameters[0].size, 8U);
  EXPECT_EQ(entry.parameters[1].offset, 8U);
  EXPECT_EQ(entry.parameter_bytes, 12U);
}

TEST(Ptx, AlignmentsThatAreNotTheParametersOwn) {
  const auto module = parse(
      ".entry k(.param .u32 n, .param .u64 .ptr .global .align 4 p, .param .b8 a[3],"
      " .param .b8 b[5], .param .b32 c[2]) {}");
  ASSERT_TRUE(module);
  std::vector<unsigned> offsets;
  for (const PtxParameter& p : module->entries.at(0).parameters) offsets.push_back(p.offset);
  EXPECT_EQ(offsets, (std::vector<unsigned>{0, 8, 16, 19, 24}));
}

TEST(Ptx, CommentsHideWhatTheyHold) {
  const auto module = parse_ptx(
      "// made by a compiler: .entry no(\n/* .version 1.0 .entry nor_this( */\n" + kHead +
      "// .entry hidden(.param .u64 x)\n.entry /* odd place */ seen(.param /* x */ .u64 a // b\n)"
      "{ ret; }");
  ASSERT_TRUE(module);
  ASSERT_EQ(module->entries.size(), 1U);
  EXPECT_EQ(module->entries[0].name, "seen");
  EXPECT_EQ(module->entries[0].parameter_bytes, 8U);
}

TEST(Ptx, NoModuleAtAll) {
  for (const char* text : {"", "   \n", "hello", ".target sm_75\n.version 6.0\n", ".version 6.0\n",
                           "/* .version 6.0 .target sm_75",
                           "\x7f"
                           "ELF"}) {
    EXPECT_FALSE(parse_ptx(text)) << text;
  }
  EXPECT_TRUE(parse("")) << "a module without kernels is one";
}

TEST(Ptx, BrokenEntries) {
  for (const char* body :
       {".entry", ".entry k", ".entry k(", ".entry k(.param .u64 a", ".entry k(a)",
        ".entry k(.param .pred a)", ".entry k(.param .u64 a,,.param .u64 b){}",
        ".entry k(.param .b8 a[0]){}", ".entry k(.param .u999999 a){}"}) {
    EXPECT_FALSE(parse(body)) << body;
  }
}

// An alignment that is no power of two, a size that does not fit: no answer may come of them.
TEST(Ptx, AbsurdNumbers) {
  for (const char* body :
       {".entry k(.param .align 3 .b8 a[3]){}", ".entry k(.param .b8 a[99999999999]){}",
        ".entry k(.param .b64 a[536870912]){}", ".entry k(.param .b8 a[-1]){}",
        ".entry k(.param .b8 a[30000], .param .b8 b[30000]){}"}) {
    EXPECT_FALSE(parse(body)) << body;
  }
}

}  // namespace
}  // namespace nvs::sim
