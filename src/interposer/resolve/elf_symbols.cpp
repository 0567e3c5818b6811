// SPDX-License-Identifier: Apache-2.0
#include "interposer/resolve/elf_symbols.h"

#include <cstdint>

#include "interposer/plain_string.h"

extern "C" {
// Weak and without a version, so that the library does not need the loader by name.
extern r_debug nvs_loader_debug __asm__("_r_debug") __attribute__((weak));
extern ElfW(Dyn) nvs_own_dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));
}

namespace nvs::interposer {
namespace {

struct Tables {
  const char* soname = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
};

// The loader has relocated these pointers for most objects, and not for the kernel's own.
template <class T>
const T* table(const link_map& object, const ElfW(Dyn) & entry) {
  const ElfW(Addr) value = entry.d_un.d_ptr;
  return reinterpret_cast<const T*>(value < object.l_addr ? value + object.l_addr : value);
}

Tables tables_of(const link_map& object) {
  Tables tables;
  if (object.l_ld == nullptr) return tables;
  const ElfW(Dyn)* soname = nullptr;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) tables.symbols = table<ElfW(Sym)>(object, *entry);
    if (entry->d_tag == DT_STRTAB) tables.strings = table<char>(object, *entry);
    if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = table<std::uint32_t>(object, *entry);
    if (entry->d_tag == DT_HASH) tables.hash = table<std::uint32_t>(object, *entry);
    if (entry->d_tag == DT_SONAME) soname = entry;
  }
  if (soname != nullptr && tables.strings != nullptr) {
    tables.soname = tables.strings + soname->d_un.d_val;
  }
  return tables;
}

bool is_named(const link_map& object, const char* soname) {
  const Tables tables = tables_of(object);
  return tables.soname != nullptr && equal(tables.soname, soname);
}

bool is_function(const Tables& tables, const ElfW(Sym) & symbol, const char* name) {
  return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
         equal(tables.strings + symbol.st_name, name);
}

const ElfW(Sym) * find_by_gnu_hash(const Tables& tables, const char* name) {
  std::uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  const std::uint32_t bucket_count = tables.gnu_hash[0];
  const std::uint32_t first_symbol = tables.gnu_hash[1];
  const std::uint32_t bloom_words = tables.gnu_hash[2];
  const std::uint32_t* buckets =
      tables.gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* chains = buckets + bucket_count;
  if (bucket_count == 0) return nullptr;
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const std::uint32_t chained = chains[index - first_symbol];
    if ((chained | 1) == (hash | 1) && is_function(tables, tables.symbols[index], name)) {
      return &tables.symbols[index];
    }
    if ((chained & 1) != 0) return nullptr;
  }
}

const ElfW(Sym) * find_by_hash(const Tables& tables, const char* name) {
  std::uint32_t hash = 0;
  for (const char* c = name; *c != '\0'; ++c) {
    hash = (hash << 4) + static_cast<unsigned char>(*c);
    hash = (hash ^ ((hash & 0xf0000000U) >> 24)) & 0x0fffffffU;
  }
  const std::uint32_t bucket_count = tables.hash[0];
  const std::uint32_t* buckets = tables.hash + 2;
  const std::uint32_t* chains = buckets + bucket_count;
  if (bucket_count == 0) return nullptr;
  for (std::uint32_t index = buckets[hash % bucket_count]; index != STN_UNDEF;
       index = chains[index]) {
    if (is_function(tables, tables.symbols[index], name)) return &tables.symbols[index];
  }
  return nullptr;
}

}  // namespace

void* defined_in(const link_map& object, const char* name) {
  const Tables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return nullptr;
  const ElfW(Sym)* symbol = nullptr;
  if (tables.gnu_hash != nullptr) {
    symbol = find_by_gnu_hash(tables, name);
  } else if (tables.hash != nullptr) {
    symbol = find_by_hash(tables, name);
  }
  if (symbol == nullptr) return nullptr;
  return reinterpret_cast<void*>(object.l_addr + symbol->st_value);
}

const link_map* first_object() {
  return &nvs_loader_debug != nullptr ? nvs_loader_debug.r_map : nullptr;
}

const link_map* own_object() {
  for (const link_map* object = first_object(); object != nullptr; object = object->l_next) {
    if (object->l_ld == nvs_own_dynamic) return object;
  }
  return nullptr;
}

void* first_definition(const link_map* begin, const link_map* end, const char* name) {
  for (; begin != end; begin = begin->l_next) {
    if (void* address = defined_in(*begin, name)) return address;
  }
  return nullptr;
}

void* defined_elsewhere(const char* name) {
  const link_map* own = own_object();
  if (own == nullptr) return nullptr;
  void* address = first_definition(own->l_next, nullptr, name);
  return address != nullptr ? address : first_definition(first_object(), own, name);
}

void* defined_in_libc(const char* name) {
  constexpr const char* kSonames[] = {"libc.so.6", "libdl.so.2", "libpthread.so.0"};
  for (const char* soname : kSonames) {
    for (const link_map* object = first_object(); object != nullptr; object = object->l_next) {
      if (!is_named(*object, soname)) continue;
      if (void* address = defined_in(*object, name)) return address;
      break;
    }
  }
  return nullptr;
}

const link_map* initial_object(const char* soname) {
  for (const link_map* object = first_object(); object != nullptr; object = object->l_next) {
    if (is_named(*object, soname)) return object;
    // The loader comes after what the program needs directly. What comes after the loader may have
    // been opened at run time.
    if (object->l_addr == nvs_loader_debug.r_ldbase) return nullptr;
  }
  return nullptr;
}

}  // namespace nvs::interposer
