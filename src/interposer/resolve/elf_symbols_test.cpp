// SPDX-License-Identifier: Apache-2.0
#include "interposer/resolve/elf_symbols.h"

#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace nvs::interposer {
namespace {

const link_map* object_named(const std::string& part) {
  for (const link_map* object = first_object(); object != nullptr; object = object->l_next) {
    if (std::string(object->l_name).find(part) != std::string::npos) return object;
  }
  return nullptr;
}

TEST(ElfSymbolsTest, FindsWhatTheLoaderFinds) {
  const link_map* libc = object_named("libc.so.6");
  ASSERT_NE(libc, nullptr);
  void* handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(handle, nullptr);
  for (const char* name : {"printf", "open", "dl_iterate_phdr", "abort", "qsort", "sigaction"}) {
    EXPECT_EQ(defined_in(*libc, name), dlsym(handle, name)) << name;
  }
  dlclose(handle);
}

TEST(ElfSymbolsTest, FindsNothingThatIsNotThere) {
  for (const link_map* object = first_object(); object != nullptr; object = object->l_next) {
    EXPECT_EQ(defined_in(*object, "nvs_no_such_function"), nullptr) << object->l_name;
    EXPECT_EQ(defined_in(*object, ""), nullptr) << object->l_name;
  }
}

TEST(ElfSymbolsTest, AnObjectThatOnlyUsesAFunctionDoesNotDefineIt) {
  const link_map* own = own_object();
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(defined_in(*own, "dlclose"), nullptr);
}

TEST(ElfSymbolsTest, FindsTheRealDlsym) {
  using Dlsym = void* (*)(void*, const char*);
  const auto real = reinterpret_cast<Dlsym>(defined_elsewhere("dlsym"));
  ASSERT_NE(real, nullptr);
  EXPECT_EQ(real(RTLD_DEFAULT, "qsort"), reinterpret_cast<void*>(&qsort));
}

}  // namespace
}  // namespace nvs::interposer
