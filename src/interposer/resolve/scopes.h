// SPDX-License-Identifier: Apache-2.0
// Where a symbol would be found if we were not in the way.
#pragma once

namespace nvs::interposer {

// In what the library at `caller` brought along itself, when it was opened at run time. Version
// null: any. Null if there is nothing, or if that is one of our exports.
void* in_callers_scope(const void* caller, const char* name, const char* version);

// Was the library at `caller` opened at run time? Then it may see libraries that others do not.
bool has_scope_of_its_own(const void* caller);

}  // namespace nvs::interposer
