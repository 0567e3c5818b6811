// SPDX-License-Identifier: Apache-2.0
// The program's calls on views of memory that it created (ADR 17): checked as the driver does, with
// pages there or not.
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"
#include "interposer/memory/swap/query.h"
#include "interposer/memory/vmm/view_table.h"

namespace nvs::interposer::swap {

// Whether any view has something in the range.
bool has_views(const vmm::Range& range);
// The one with this address, as programs see it; not if the driver can answer for it.
bool find_view(std::uint64_t address, Named& named);

// The whole of what the token stands for. May wait at the gate until all of it is there.
CUresult map_view(const vmm::Range& range, std::uint64_t offset, std::uint64_t token,
                  unsigned long long flags);
// All of these where there are views, and maybe mappings of the driver's own beside them.
CUresult unmap_range(const vmm::Range& range);
CUresult allow_range(const vmm::Range& range, const CUmemAccessDesc* wanted, std::size_t count);
// False: there is no view.
bool access_at(std::uint64_t address, const CUmemLocation* location, unsigned long long* flags,
               CUresult& result);

}  // namespace nvs::interposer::swap
