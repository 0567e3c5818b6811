// SPDX-License-Identifier: Apache-2.0
// What dlsym and dlvsym answer for names of the table: the same as without us, except that the
// driver's function is replaced by its hook. The difficulty is that our exports are in the way:
// where the real look-up would find nothing or something else without us, so must this one.
#include <cstdint>

#include <dlfcn.h>
#include <link.h>

#include "interposer/exports/hooks.h"
#include "interposer/exports/real.h"
#include "interposer/resolve/attach.h"
#include "interposer/resolve/elf_symbols.h"
#include "interposer/resolve/libc.h"
#include "interposer/resolve/scopes.h"

namespace nvs::interposer {
namespace {

struct Question {
  void* handle;
  const char* name;
  const char* version;  // null: dlsym
  const void* caller;
  std::size_t row;
};

// Two registers, for the assembly that calls us.
struct Answer {
  void* address;
  std::uintptr_t given;  // 0: jump to the real function
};

constexpr Answer kJump{nullptr, 0};
Answer give(void* address) { return {address, 1}; }

void* ask(const Question& question, void* handle) {
  return question.version != nullptr ? libc::next_dlvsym(handle, question.name, question.version)
                                     : libc::next_dlsym(handle, question.name);
}

Answer give_hook(const Question& question, void* address) {
  if (address == nullptr) return give(nullptr);
  return give(attach(kRows[question.row].library) == Attachment::hooked ? substitute(address)
                                                                        : address);
}

// The real dlsym, asked by us, looks behind us for RTLD_NEXT.
void* find_behind_us(const Question& question) { return ask(question, RTLD_NEXT); }

// RTLD_DEFAULT has a second place to look: what the library that asks was loaded with. We see what
// it brought along itself, and not what was brought along by whoever loaded it; so if it asks for a
// driver that is loaded at all, it gets that.
void* in_local_scope(const Question& question) {
  void* address = in_callers_scope(question.caller, question.name, question.version);
  const bool found = address != nullptr || !has_scope_of_its_own(question.caller);
  if (found || attach(kRows[question.row].library) == Attachment::absent) return address;
  return real_address(question.row);
}

// The look-up has found our export. Without us it would have gone on.
Answer go_on_behind_us(const Question& question) {
  void* behind = find_behind_us(question);
  if (behind == nullptr && question.handle == RTLD_DEFAULT) {
    behind = in_local_scope(question);
    if (behind != nullptr) {
      libc::clear_error();  // of the looks that found nothing
    } else {
      find_behind_us(question);  // once more, for the message
    }
  }
  return give_hook(question, behind);
}

bool is_before_us(const link_map* object, const link_map* own) {
  for (const link_map* earlier = first_object(); earlier != own; earlier = earlier->l_next) {
    if (earlier == object) return true;
  }
  return false;
}

struct Search {
  const link_map* caller;
  const char* name;
  void* found;
};

// The loader's list stands still while it calls this.
int search_under_lock(dl_phdr_info*, std::size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  search->found = first_definition(search->caller->l_next, nullptr, search->name);
  return 1;
}

// RTLD_NEXT: another library that wraps the driver, in front of us or behind us. In front, it gets
// what lies between, else what lies behind us. Behind us, it gets the hook: linked calls go from
// our export to the wrapper, and from there to the hook.
Answer look_next(const Question& question) {
  const link_map* own = own_object();
  const link_map* caller = libc::object_at(question.caller);
  if (own == nullptr || caller == nullptr || caller == own) return kJump;
  if (is_before_us(caller, own)) {
    if (void* between = first_definition(caller->l_next, own, question.name)) return give(between);
    return give_hook(question, find_behind_us(question));
  }
  Search search{caller, question.name, nullptr};
  dl_iterate_phdr(&search_under_lock, &search);
  return search.found != nullptr ? give_hook(question, search.found) : kJump;
}

Answer look_up(const Question& question) {
  if (question.handle == RTLD_NEXT) return look_next(question);
  void* address = ask(question, question.handle);
  if (exported_at(address) != kRowCount) return go_on_behind_us(question);
  return give_hook(question, address);
}

}  // namespace
}  // namespace nvs::interposer

extern "C" __attribute__((visibility("hidden"))) nvs::interposer::Answer nvs_look_up(
    void* handle, const char* name, const char* version, const void* caller) {
  using namespace nvs::interposer;
  const std::size_t row = find_exported(name);
  if (row == kRowCount) return kJump;
  return look_up({handle, name, version, caller, row});
}
