// SPDX-License-Identifier: Apache-2.0
// Entry points: the attributes of a stream. They are hints, which the simulator keeps and does not
// act upon.
#include <cstring>

#include "cuda_sim/api/call.h"

using namespace nvs::sim;

namespace {

bool is_stream_attribute(CUstreamAttrID attribute) {
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return true;
    default:
      return false;
  }
}

CUstreamAttrValue initial_value(const Stream& stream, CUstreamAttrID attribute) {
  CUstreamAttrValue value{};
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) value.priority = stream.priority;
  // Measured on an H200: a policy that was never set is none of the known ones.
  if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) {
    std::memset(&value.syncPolicy, 0xff, sizeof value.syncPolicy);
  }
  return value;
}

}  // namespace

NVS_SIM_STREAM(cuStreamGetAttribute, _ptsz,
               (CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* value), handle,
               attribute, value) {
  if (value == nullptr || !is_stream_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_LOOK_UP_STREAM(stream, handle)
  const auto set = stream->attributes.find(attribute);
  *value = set != stream->attributes.end() ? set->second : initial_value(*stream, attribute);
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuStreamSetAttribute, _ptsz,
               (CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue* value), handle,
               attribute, value) {
  if (value == nullptr || !is_stream_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_LOOK_UP_STREAM(stream, handle)
  stream->attributes[attribute] = *value;
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuStreamCopyAttributes, _ptsz, (CUstream to_handle, CUstream from_handle), to_handle,
               from_handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_LOOK_UP_STREAM(to, to_handle)
  NVS_SIM_LOOK_UP_STREAM(from, from_handle)
  if (to->context != from->context) return CUDA_ERROR_INVALID_VALUE;
  to->attributes = from->attributes;
  return CUDA_SUCCESS;
}
