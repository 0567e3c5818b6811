// SPDX-License-Identifier: Apache-2.0
#include "interposer/exports/rows.h"

#include <string>

#include <gtest/gtest.h>

#include "cuda_api/cuda.h"
#include "interposer/exports/hooks.h"

namespace nvs::interposer {
namespace {

TEST(RowsTest, FindsEveryExportedName) {
  for (std::size_t i = 0; i < kRowCount; ++i) {
    EXPECT_EQ(find_exported(kRows[i].name), is_exported(kRows[i]) ? i : kRowCount) << kRows[i].name;
  }
}

TEST(RowsTest, FindsNothingElse) {
  for (const char* name : {"", "c", "cu", "cuInit", "cuMemAlloc_v", "cuMemAlloc_v22", "cudaMalloc",
                           "curl_easy_init", "nvml", "zzz", "cuMemAlloc_v2 "}) {
    EXPECT_EQ(find_exported(name), kRowCount) << name;
  }
}

TEST(RowsTest, EveryExportedRowHasAHookOfItsOwn) {
  for (std::size_t i = 0; i < kRowCount; ++i) {
    EXPECT_EQ(hook_of(i) != nullptr, is_exported(kRows[i])) << kRows[i].name;
    for (std::size_t j = 0; hook_of(i) != nullptr && j < i; ++j) {
      EXPECT_NE(hook_of(i), hook_of(j)) << kRows[i].name << " and " << kRows[j].name;
    }
  }
}

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(RowsTest, AnExportIsFoundByItsAddress) {
  const auto first = reinterpret_cast<std::uintptr_t>(&::cuArray3DCreate);
  const auto launch = reinterpret_cast<std::uintptr_t>(&::cuLaunchKernel);
  EXPECT_EQ(exported_at(at(first)), 0U);
  EXPECT_EQ(exported_at(at(first - 16)), kRowCount);
  EXPECT_EQ(exported_at(at(launch)), index_of(Row::cuLaunchKernel));
  EXPECT_EQ(exported_at(at(launch + 1)), kRowCount);
  EXPECT_EQ(exported_at(nullptr), kRowCount);
}

}  // namespace
}  // namespace nvs::interposer
