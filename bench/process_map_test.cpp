// SPDX-License-Identifier: Apache-2.0
#include "bench/process_map.h"

#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace nvs::bench {
namespace {

constexpr const char* kMaps =
    "00400000-00401000 r-xp 00000000 08:02 11                   /usr/bin/libcuda.so.user\n"
    "7f0000000000-7f0000001000 r--p 00000000 08:02 12           /usr/lib/libcuda.so.580.10\n"
    "7f0000001000-7f0000003000 r-xp 00001000 08:02 12           /usr/lib/libcuda.so.580.10\n"
    "7f0000004000-7f0000005000 r-xp 00000000 08:02 13           /usr/lib/libcudart.so.13\n"
    "7f0000006000-7f0000007000 r-xp 00000000 08:02 14           /usr/lib/libcuda.so.d/other\n"
    "7ffff7ff0000-7ffff7ff2000 r-xp 00000000 00:00 0            [vdso]\n";

TEST(ProcessMap, FindsCodeByTheStartOfTheFileName) {
  std::istringstream maps(kMaps);
  EXPECT_EQ(find_code(maps, "libcuda.so"),
            (std::vector<CodeRange>{{0x400000, 0x401000}, {0x7f0000001000, 0x7f0000003000}}));
}

TEST(ProcessMap, FindsTheCodeOfThisProgram) {
  std::uint64_t hits = 0;
  for (const CodeRange& range : find_code(::getpid(), "bench_test")) {
    hits += range.contains(reinterpret_cast<std::uint64_t>(&kMaps)) ? 1 : 0;
    EXPECT_LT(range.begin, range.end);
    ++hits;
  }
  EXPECT_EQ(hits, 1u) << "code is one mapping, and data is not in it";
}

constexpr const char* kSmaps =
    "7f0000000000-7f0000001000 r-xp 00000000 08:02 12           /opt/libnvshare.so\n"
    "Size:                  4 kB\n"
    "Rss:                   4 kB\n"
    "Private_Dirty:         0 kB\n"
    "VmFlags: rd ex mr mw me sd\n"
    "7f0000001000-7f0000002000 rw-p 00001000 08:02 12           /opt/libnvshare.so\n"
    "Rss:                   4 kB\n"
    "Private_Dirty:         4 kB\n"
    "7f0000002000-7f0000004000 rw-p 00000000 00:00 0 \n"
    "Rss:                   8 kB\n"
    "Private_Dirty:         8 kB\n"
    "7f0000004000-7f0000005000 rw-p 00000000 00:00 0 \n"
    "Rss:                  16 kB\n"
    "Private_Dirty:        16 kB\n"
    "7f0000006000-7f0000007000 rw-p 00000000 08:02 12           /opt/libother.so\n"
    "Rss:                  32 kB\n"
    "Private_Dirty:        32 kB\n";

TEST(ProcessMap, MemoryIsThatOfTheFileAndOfWhatFollowsIt) {
  std::istringstream smaps(kSmaps);
  EXPECT_EQ(find_memory(smaps, "/opt/libnvshare.so"), (LibraryMemory{16 * 1024, 12 * 1024}));
}

TEST(ProcessMap, AFileThatIsNotMappedHasNone) {
  std::istringstream smaps(kSmaps);
  EXPECT_FALSE(find_memory(smaps, "/opt/libnvshare"));
}

}  // namespace
}  // namespace nvs::bench
