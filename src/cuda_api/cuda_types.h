// SPDX-License-Identifier: Apache-2.0
// The vocabulary of the CUDA driver API that everything else is written in: scalar types, opaque
// handles, result codes and device attributes. These are our own declarations of CUDA 13.0's ABI,
// so that the product builds on machines without a CUDA toolkit.
#pragma once

#include <cstddef>
#include <cstdint>

typedef std::uint32_t cuuint32_t;
typedef std::uint64_t cuuint64_t;
typedef unsigned int CUdeviceptr_v1;
typedef unsigned long long CUdeviceptr_v2, CUdeviceptr;
typedef int CUdevice_v1, CUdevice;
typedef unsigned long long CUtexObject_v1, CUtexObject;
typedef unsigned long long CUsurfObject_v1, CUsurfObject;
typedef unsigned long long CUmemGenericAllocationHandle_v1, CUmemGenericAllocationHandle;
typedef cuuint64_t CUgraphConditionalHandle;
typedef unsigned int CUlogIterator;

typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUlib_st* CUlibrary;
typedef struct CUkern_st* CUkernel;
typedef struct CUarray_st* CUarray;
typedef struct CUmipmappedArray_st* CUmipmappedArray;
typedef struct CUtexref_st* CUtexref;
typedef struct CUsurfref_st* CUsurfref;
typedef struct CUevent_st* CUevent;
typedef struct CUstream_st* CUstream;
typedef struct CUgraphicsResource_st* CUgraphicsResource;
typedef struct CUextMemory_st* CUexternalMemory;
typedef struct CUextSemaphore_st* CUexternalSemaphore;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphNode_st* CUgraphNode;
typedef struct CUgraphExec_st* CUgraphExec;
typedef struct CUmemPoolHandle_st* CUmemoryPool;
typedef struct CUuserObject_st* CUuserObject;
typedef struct CUgraphDeviceUpdatableNode_st* CUgraphDeviceNode;
typedef struct CUasyncCallbackEntry_st* CUasyncCallbackHandle;
typedef struct CUgreenCtx_st* CUgreenCtx;
typedef struct CUlinkState_st* CUlinkState;
typedef struct CUdevResourceDesc_st* CUdevResourceDesc;
typedef struct CUlogsCallbackEntry_st* CUlogsCallbackHandle;

typedef struct CUuuid_st {
  char bytes[16];
} CUuuid;

#define NVS_CUDA_RESULT(name, value) name = (value),
typedef enum cudaError_enum : unsigned int {
#include "spec/cuda_results.def"
} CUresult;
#undef NVS_CUDA_RESULT

#define NVS_CUDA_DEVICE_ATTRIBUTE(name, value) name = (value),
#define NVS_CUDA_DEVICE_ATTRIBUTE_ALIAS(name, value) name = (value),
typedef enum CUdevice_attribute_enum : unsigned int {
#include "spec/cuda_device_attributes.def"
  CU_DEVICE_ATTRIBUTE_MAX
} CUdevice_attribute;
#undef NVS_CUDA_DEVICE_ATTRIBUTE
#undef NVS_CUDA_DEVICE_ATTRIBUTE_ALIAS

inline constexpr CUdevice CU_DEVICE_CPU = -1;
inline constexpr CUdevice CU_DEVICE_INVALID = -2;
inline constexpr int CUDA_VERSION = 13000;
inline constexpr int CU_IPC_HANDLE_SIZE = 64;
