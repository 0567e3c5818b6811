// SPDX-License-Identifier: Apache-2.0
// The value of LD_PRELOAD that brings our library into a program without breaking what the user or
// a sanitizer has put there.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nvs::cli {

// True for the libraries that stop a program unless they are the first to be loaded.
bool is_sanitizer_runtime(std::string_view path);

// Whether the loader would take the path for what it is. It splits the list at spaces and colons,
// knows no quotes, and replaces $ORIGIN and the like.
bool can_be_preloaded(std::string_view path);

// `inherited` is LD_PRELOAD as it is now. `needed` are the libraries that the program itself asks
// for.
std::string compose_preload(std::string_view inherited, const std::string& library,
                            std::span<const std::string> needed);

}  // namespace nvs::cli
