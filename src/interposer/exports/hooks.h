// SPDX-License-Identifier: Apache-2.0
// From a row to the code that stands for it: what a program gets instead of the driver's address.
#pragma once

#include "interposer/exports/rows.h"

namespace nvs::interposer {

// What to hand out instead of the driver's function; null for rows that are not hooked.
void* hook_of(std::size_t index);

// The row whose exported symbol lies at this address; kRowCount if it is none of ours.
std::size_t exported_at(const void* address);

}  // namespace nvs::interposer
