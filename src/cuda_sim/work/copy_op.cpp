// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/work/copy_op.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda_sim/memory/host_pages.h"

namespace nvs::sim {
namespace {

struct RawSide {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  std::size_t x, y, z, pitch, height;
};

// Where the bytes of one end lie. The memory type only says which field holds the address.
CUresult locate(const RawSide& raw, const CUDA_MEMCPY3D& geometry, CopySide& side) {
  std::uint64_t base = 0;
  switch (raw.type) {
    case CU_MEMORYTYPE_HOST:
      base = reinterpret_cast<std::uint64_t>(raw.host);
      break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      base = raw.device;
      break;
    case CU_MEMORYTYPE_ARRAY:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (base == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool rows = geometry.Height > 1 || geometry.Depth > 1;
  if (rows && raw.pitch != 0 && raw.pitch < geometry.WidthInBytes + raw.x)
    return CUDA_ERROR_INVALID_VALUE;
  if (geometry.Depth > 1 && raw.height != 0 && raw.height < geometry.Height + raw.y) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  side.row_stride = raw.pitch != 0 ? raw.pitch : geometry.WidthInBytes + raw.x;
  side.plane_stride =
      product(side.row_stride, raw.height != 0 ? raw.height : geometry.Height + raw.y);
  side.base = base + raw.z * side.plane_stride + raw.y * side.row_stride + raw.x;
  return CUDA_SUCCESS;
}

// Pinned memory is known to be there as far as it was pinned; the rest is the program's word.
bool host_side_is_usable(Driver& driver, const CopySide& side, std::uint64_t extent, Access need) {
  const HostRange* pinned = driver.space.find_host(side.base);
  if (pinned != nullptr && extent <= pinned->begin + pinned->size - side.base) return true;
  // Measured on an H200: no copy goes from one into the next, even if they lie side by side.
  if (pinned != nullptr && driver.space.find_host(pinned->begin + pinned->size) != nullptr) {
    return false;
  }
  const HostUse use = need == Access::read ? HostUse::read : HostUse::write;
  return host_memory_allows(side.base, extent, use);
}

CUresult classify(Driver& driver, unsigned gpu, const RawSide& raw, Access need,
                  const CopyPlan& plan, CopySide& side) {
  const std::uint64_t extent = plan.extent(side);
  if (const Mapping* mapping = driver.space.find(side.base); mapping != nullptr) {
    side.end = CopyEnd::device;
    side.gpu = mapping->physical->gpu();
    return driver.space.view(side.base, extent, side.gpu, need) ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
  }
  const HostRange* host = driver.space.find_host(side.base);
  if (host != nullptr && host->managed) {
    side.end = CopyEnd::device;
    side.gpu = gpu;
    return driver.space.view(side.base, extent, gpu, need) ? CUDA_SUCCESS
                                                           : CUDA_ERROR_INVALID_VALUE;
  }
  if (host != nullptr) {
    side.end = CopyEnd::pinned;
  } else if (raw.type == CU_MEMORYTYPE_DEVICE ||
             driver.space.reservation(side.base, 1) != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return host_side_is_usable(driver, side, extent, need) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult plan_copy(Driver& driver, unsigned gpu, const CUDA_MEMCPY3D& g, CopyPlan& plan) {
  plan.width = g.WidthInBytes;
  plan.height = g.Height;
  plan.depth = g.Depth;
  if (plan.bytes() == 0) return CUDA_SUCCESS;
  const RawSide src{g.srcMemoryType, g.srcHost, g.srcDevice, g.srcXInBytes,
                    g.srcY,          g.srcZ,    g.srcPitch,  g.srcHeight};
  const RawSide dst{g.dstMemoryType, g.dstHost, g.dstDevice, g.dstXInBytes,
                    g.dstY,          g.dstZ,    g.dstPitch,  g.dstHeight};
  CUresult result = locate(src, g, plan.src);
  if (result == CUDA_SUCCESS) result = locate(dst, g, plan.dst);
  if (result == CUDA_SUCCESS) result = classify(driver, gpu, src, Access::read, plan, plan.src);
  if (result == CUDA_SUCCESS)
    result = classify(driver, gpu, dst, Access::read_write, plan, plan.dst);
  return result;
}

Lane lane_of(const CopyPlan& plan) {
  const bool from_device = plan.src.end == CopyEnd::device;
  const bool to_device = plan.dst.end == CopyEnd::device;
  if (from_device && to_device) {
    return plan.src.gpu == plan.dst.gpu ? Lane::compute : Lane::copy_out;
  }
  if (to_device) return Lane::copy_in;
  return from_device ? Lane::copy_out : Lane::host;
}

CopyOp::CopyOp(Driver& driver, CopyPlan plan, std::shared_ptr<std::vector<std::byte>> staged)
    : Op(lane_of(plan)), driver_(driver), plan_(plan), staged_(std::move(staged)) {}

std::optional<View> CopyOp::view_of(const CopySide& side, Access need) {
  const std::uint64_t extent = plan_.extent(side);
  if (side.end == CopyEnd::device) return driver_.space.view(side.base, extent, side.gpu, need);
  View view;
  if (extent != 0) view.append(nullptr, 0, reinterpret_cast<std::byte*>(side.base), extent);
  return view;
}

Nanos CopyOp::wait_for(const CopySide& side, Access need) {
  if (side.end != CopyEnd::device) return 0;
  return use_managed(driver_, side.gpu, side.base, plan_.extent(side), need);
}

bool CopyOp::resolve() {
  if (staged_) {
    src_.append(nullptr, 0, staged_->data(), staged_->size());
  } else {
    auto src = view_of(plan_.src, Access::read);
    if (!src) return false;
    src_ = std::move(*src);
  }
  auto dst = view_of(plan_.dst, Access::read_write);
  if (!dst) return false;
  dst_ = std::move(*dst);
  stall_ = wait_for(plan_.src, Access::read) + wait_for(plan_.dst, Access::read_write);
  return true;
}

// `offset` counts the bytes copied, row by row; each end finds its own place for them.
void CopyOp::perform(std::uint64_t offset, std::uint64_t bytes) {
  if (lane() == Lane::host) {
    bytes = plan_.bytes();
    if (!resolve()) return;
  }
  while (bytes > 0) {
    const std::uint64_t row = offset / plan_.width;
    const std::uint64_t column = offset % plan_.width;
    const std::uint64_t run = std::min(bytes, plan_.width - column);
    std::uint64_t from = plan_.src.row(row, plan_.height) + column;
    const std::uint64_t to = plan_.dst.row(row, plan_.height) + column;
    dst_.for_each(to, run, [&](std::byte* out, std::uint64_t out_bytes) {
      src_.for_each(from, out_bytes, [&](const std::byte* in, std::uint64_t in_bytes) {
        std::memmove(out, in, in_bytes);
        out += in_bytes;
      });
      from += out_bytes;
    });
    offset += run;
    bytes -= run;
  }
}

void CopyOp::let_go() {
  src_ = {};
  dst_ = {};
}

Nanos CopyOp::duration() const {
  const Machine& machine = *driver_.machine;
  const double traffic = 2.0 * static_cast<double>(plan_.bytes()) * machine.scale();
  return machine.dilate(
      std::max(traffic / machine.model().kernel_bytes_per_ns, machine.model().kernel_floor_ns));
}

double CopyOp::rate_limit() const {
  const Model& model = driver_.machine->model();
  if (lane() == Lane::copy_in && plan_.src.end == CopyEnd::pageable) {
    return model.pageable_in_bytes_per_ns;
  }
  if (lane() == Lane::copy_out && plan_.dst.end == CopyEnd::pageable) {
    return model.pageable_out_bytes_per_ns;
  }
  return 0;
}

std::vector<Range> CopyOp::touches() const {
  std::vector<Range> ranges;
  for (const CopySide* side : {&plan_.src, &plan_.dst}) {
    if (side->end == CopyEnd::device) ranges.push_back({side->base, plan_.extent(*side)});
  }
  return ranges;
}

}  // namespace nvs::sim
