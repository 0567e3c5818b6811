// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

const char* or_null(const char* text) { return text == nullptr ? "null" : text; }

void known(Run& run) {
  // Around each block of codes that CUDA defines, so that both what is named and what is not are
  // seen.
  for (const int code :
       {0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   34,  36,  46,  100, 101, 102, 200, 201,
        202, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214, 215, 216, 217, 218, 219, 220, 221,
        222, 223, 224, 225, 226, 227, 300, 301, 302, 303, 304, 400, 401, 402, 500, 600, 700, 701,
        702, 703, 704, 705, 708, 709, 710, 711, 712, 713, 714, 715, 716, 717, 718, 719, 720, 721,
        800, 801, 802, 803, 804, 805, 806, 807, 808, 809, 810, 811, 812, 900, 901, 902, 903, 904,
        905, 906, 907, 908, 909, 910, 911, 912, 913, 914, 915, 916, 999}) {
    const char* name = "untouched";
    const char* text = "untouched";
    const auto named = run.driver().cuGetErrorName(as_enum<CUresult>(code), &name);
    const auto told = run.driver().cuGetErrorString(as_enum<CUresult>(code), &text);
    run.show(cat("cuGetErrorName(", code, ")"), cat(named, " ", or_null(name)));
    run.show(cat("cuGetErrorString(", code, ")"), cat(told, " ", or_null(text)));
  }
}

void unknown(Run& run) {
  for (const int code : {-1, 10, 35, 99, 103, 203, 204, 499, 706, 722, 917, 998, 1000, 100000}) {
    const char* name = "untouched";
    CALL(cat("code ", code), cuGetErrorName, as_enum<CUresult>(code), &name);
    run.show(cat("name of ", code), or_null(name));
    const char* text = "untouched";
    CALL(cat("code ", code), cuGetErrorString, as_enum<CUresult>(code), &text);
    run.show(cat("text of ", code), or_null(text));
  }
}

}  // namespace

Section error_section() {
  return {"error", Start::kInit, {{"known", known}, {"unknown", unknown}}};
}

}  // namespace nvs::conformance
