// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <elf.h>

#include "cuda_sim/nvml/test_library.h"

namespace nvs::nvml {
namespace {

using Names = std::set<std::string>;

const Names& all_symbols() {
  static const Names names = {
#define NVS_NVML_ENTRY(symbol) #symbol,
#include "spec/nvml_entry_points.def"
#undef NVS_NVML_ENTRY
  };
  return names;
}

const std::map<std::string, unsigned>& first_branches() {
  static const std::map<std::string, unsigned> branches = {
#define NVS_NVML_SINCE(symbol, branch) {#symbol, branch},
#include "spec/nvml_versions.def"
#undef NVS_NVML_SINCE
  };
  return branches;
}

Names symbols_of_branch(unsigned branch) {
  Names names = all_symbols();
  for (const auto& [symbol, since] : first_branches()) {
    if (since > branch) names.erase(symbol);
  }
  return names;
}

/// What the dynamic linker sees of a library.
struct Elf {
  Names exports;
  Names needed;
  std::string soname;

  explicit Elf(const char* path) {
    std::ifstream file{path, std::ios::binary};
    const std::vector<char> bytes{std::istreambuf_iterator<char>{file}, {}};
    const auto header = read<Elf64_Ehdr>(bytes, 0).at(0);
    const auto sections = read<Elf64_Shdr>(bytes, header.e_shoff, header.e_shnum);
    for (const Elf64_Shdr& section : sections) {
      const char* names = bytes.data() + sections.at(section.sh_link).sh_offset;
      if (section.sh_type == SHT_DYNSYM) {
        read_symbols(read<Elf64_Sym>(bytes, section.sh_offset, section.sh_size / sizeof(Elf64_Sym)),
                     names);
      } else if (section.sh_type == SHT_DYNAMIC) {
        read_tags(read<Elf64_Dyn>(bytes, section.sh_offset, section.sh_size / sizeof(Elf64_Dyn)),
                  names);
      }
    }
  }

 private:
  template <class T>
  static std::vector<T> read(const std::vector<char>& bytes, std::size_t offset,
                             std::size_t count = 1) {
    std::vector<T> items(count);
    if (offset + count * sizeof(T) <= bytes.size()) {
      std::memcpy(items.data(), bytes.data() + offset, count * sizeof(T));
    }
    return items;
  }

  void read_symbols(const std::vector<Elf64_Sym>& symbols, const char* names) {
    for (const Elf64_Sym& symbol : symbols) {
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_name != 0)
        exports.insert(names + symbol.st_name);
    }
  }

  void read_tags(const std::vector<Elf64_Dyn>& tags, const char* names) {
    for (const Elf64_Dyn& tag : tags) {
      if (tag.d_tag == DT_NEEDED) needed.insert(names + tag.d_un.d_val);
      if (tag.d_tag == DT_SONAME) soname = names + tag.d_un.d_val;
    }
  }
};

TEST(NvmlExports, AreThoseOfTheDriver) { EXPECT_EQ(Elf{NVS_NVML_LIBRARY}.exports, all_symbols()); }

TEST(NvmlExports, OldOnesLackWhatCameLater) {
  EXPECT_EQ(Elf{NVS_NVML_LIBRARY_470}.exports, symbols_of_branch(470));
  EXPECT_EQ(Elf{NVS_NVML_LIBRARY_418}.exports, symbols_of_branch(418));
}

TEST(NvmlExports, TheTableOfVersionsNamesEntryPoints) {
  for (const auto& [symbol, since] : first_branches()) {
    EXPECT_TRUE(all_symbols().contains(symbol)) << symbol;
    EXPECT_GT(since, 418U) << symbol;
    EXPECT_LE(since, 580U) << symbol;
  }
}

TEST(NvmlExports, OldProgramsFindWhatTheyLookFor) {
  const Nvml branch_418{NVS_NVML_LIBRARY_418};
  EXPECT_NE(branch_418.nvmlInitWithFlags, nullptr);
  EXPECT_NE(branch_418.nvmlDeviceGetPciInfo_v3, nullptr);
  EXPECT_NE(branch_418.nvmlDeviceGetComputeRunningProcesses, nullptr);
  EXPECT_EQ(branch_418.nvmlDeviceGetComputeRunningProcesses_v2, nullptr);
  EXPECT_EQ(branch_418.nvmlDeviceGetMigMode, nullptr);
  EXPECT_EQ(branch_418.nvmlEventSetWait_v2, nullptr);
  EXPECT_EQ(branch_418.nvmlDeviceGetMemoryInfo_v2, nullptr);
  const Nvml branch_470{NVS_NVML_LIBRARY_470};
  EXPECT_NE(branch_470.nvmlDeviceGetComputeRunningProcesses_v2, nullptr);
  EXPECT_NE(branch_470.nvmlDeviceGetMigMode, nullptr);
  EXPECT_EQ(branch_470.nvmlDeviceGetComputeRunningProcesses_v3, nullptr);
  EXPECT_EQ(branch_470.nvmlDeviceGetMemoryInfo_v2, nullptr);
}

TEST(NvmlExports, NothingButGlibcIsNeeded) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "sanitizers bring a library along";
#endif
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "sanitizers bring a library along";
#endif
  for (const char* path : {NVS_NVML_LIBRARY, NVS_NVML_LIBRARY_470, NVS_NVML_LIBRARY_418}) {
    const Elf elf{path};
    EXPECT_EQ(elf.soname, "libnvidia-ml.so.1");
    for (const std::string& name : elf.needed) {
      EXPECT_TRUE(name == "libc.so.6" || name == "libm.so.6" || name.starts_with("ld-linux"))
          << name;
    }
  }
}

class OldNvmlTest : public NvmlTest {
 protected:
  void check(const char* path, const char* driver, const char* version, int cuda_version) {
    const Nvml old{path};
    ASSERT_EQ(old.nvmlInit_v2(), NVML_SUCCESS);
    std::array<char, 80> text{};
    EXPECT_EQ(old.nvmlSystemGetDriverVersion(text.data(), 80), NVML_SUCCESS);
    EXPECT_STREQ(text.data(), driver);
    EXPECT_EQ(old.nvmlSystemGetNVMLVersion(text.data(), 80), NVML_SUCCESS);
    EXPECT_STREQ(text.data(), version);
    int cuda = 0;
    EXPECT_EQ(old.nvmlSystemGetCudaDriverVersion(&cuda), NVML_SUCCESS);
    EXPECT_EQ(cuda, cuda_version);
    unsigned count = 0;
    EXPECT_EQ(old.nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(old.nvmlShutdown(), NVML_SUCCESS);
  }
};

TEST_F(OldNvmlTest, SaysWhichDriverItIs) {
  check(NVS_NVML_LIBRARY_470, "470.256.02", "11.470.256.02", 11040);
  check(NVS_NVML_LIBRARY_418, "418.226.00", "10.418.226.00", 10010);
}

}  // namespace
}  // namespace nvs::nvml
