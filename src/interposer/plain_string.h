// SPDX-License-Identifier: Apache-2.0
// Comparing strings without libc: sanitizers intercept strcmp and its kin, and our look-ups run
// before they are ready for it.
#pragma once

namespace nvs::interposer {

// As strcmp does it.
constexpr int compare(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}

constexpr bool equal(const char* a, const char* b) { return compare(a, b) == 0; }

// What follows `prefix` in the text; null if the text begins otherwise.
constexpr const char* after_prefix(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return nullptr;
  }
  return text;
}

constexpr bool contains(const char* text, const char* part) {
  for (; *text != '\0'; ++text) {
    if (after_prefix(text, part) != nullptr) return true;
  }
  return false;
}

}  // namespace nvs::interposer
