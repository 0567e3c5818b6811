// SPDX-License-Identifier: Apache-2.0
// fmt's own functions, compiled once. Debian has no static library of fmt, and header-only use
// costs every file that formats a line four seconds.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
// Other files are told that somebody has these.
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto thousands_sep_impl<wchar_t>(locale_ref) -> thousands_sep_result<wchar_t>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API auto decimal_point_impl(locale_ref) -> wchar_t;
}  // namespace detail
FMT_END_NAMESPACE
