// SPDX-License-Identifier: Apache-2.0
// The books as lines of the debug log: for people in aligned columns, for programs one row a line
// with numbers in bytes. Without NVSHARE_DEBUG nothing here does anything.
#pragma once

#include "cuda_api/cuda_types.h"
#include "interposer/debug/text.h"
#include "interposer/memory/books.h"

namespace nvs::interposer::memory {

// The rows of one owner: each kind that was ever used, then all kinds together.
void append_table(debug::TextBuffer& text, const OwnerRow& row);

// That a context was created, or met for the first time; `uuid` of its device may be null.
void report_context(std::uint64_t context, RowUse use, int device, const CUuuid* uuid,
                    const char* event);
// The same for its end, with its table.
void report_ended(const OwnerRow& last);
void report_all();

}  // namespace nvs::interposer::memory
