// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/array_size.h"

namespace nvs::interposer::memory {
namespace {

// How the elements of a format lie in memory.
struct Layout {
  unsigned unit_bytes;    // of an element, or of a compressed block
  unsigned block = 1;     // elements along each side of a compressed block
  unsigned chroma_bytes;  // of one place in the second plane, for both colours together
  unsigned chroma_x = 1;  // elements that share such a place, along each axis
  unsigned chroma_y = 1;
};

constexpr Layout packed(unsigned bytes) { return {.unit_bytes = bytes, .chroma_bytes = 0}; }
constexpr Layout compressed(unsigned bytes) {
  return {.unit_bytes = bytes, .block = 4, .chroma_bytes = 0};
}
constexpr Layout planes(unsigned sample_bytes, unsigned chroma_x, unsigned chroma_y) {
  return {.unit_bytes = sample_bytes,
          .chroma_bytes = 2 * sample_bytes,
          .chroma_x = chroma_x,
          .chroma_y = chroma_y};
}

// Two colours in a plane each have as many bytes as both in one. What is packed has four channels.
Layout sampled_layout(SampledFormat format) {
  switch (format) {
    case SampledFormat::uint8_packed_422:
    case SampledFormat::uint8_packed_444:
      return packed(4);
    case SampledFormat::uint8_semi_planar_420:
    case SampledFormat::uint8_planar_420:
      return planes(1, 2, 2);
    case SampledFormat::uint16_semi_planar_420:
    case SampledFormat::uint16_planar_420:
      return planes(2, 2, 2);
    case SampledFormat::uint8_semi_planar_422:
    case SampledFormat::uint8_planar_422:
      return planes(1, 2, 1);
    case SampledFormat::uint16_semi_planar_422:
    case SampledFormat::uint16_planar_422:
      return planes(2, 2, 1);
    case SampledFormat::uint8_semi_planar_444:
    case SampledFormat::uint8_planar_444:
      return planes(1, 1, 1);
    case SampledFormat::uint16_semi_planar_444:
    case SampledFormat::uint16_planar_444:
      return planes(2, 1, 1);
    default:
      return packed(0);
  }
}

// Formats with a size of their own, whatever the number of channels says; a unit of 0 bytes for
// those that count channels.
Layout video_layout(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_NV12:
      return planes(1, 2, 2);
    case CU_AD_FORMAT_P010:
    case CU_AD_FORMAT_P016:
      return planes(2, 2, 2);
    case CU_AD_FORMAT_NV16:
      return planes(1, 2, 1);
    case CU_AD_FORMAT_P210:
    case CU_AD_FORMAT_P216:
      return planes(2, 2, 1);
    case CU_AD_FORMAT_Y444_PLANAR8:
    case CU_AD_FORMAT_YUV444_8bit_SemiPlanar:
      return planes(1, 1, 1);
    case CU_AD_FORMAT_Y444_PLANAR10:
    case CU_AD_FORMAT_YUV444_16bit_SemiPlanar:
      return planes(2, 1, 1);
    case CU_AD_FORMAT_YUY2:
      return packed(2);
    case CU_AD_FORMAT_Y210:
    case CU_AD_FORMAT_Y216:
    case CU_AD_FORMAT_AYUV:
    case CU_AD_FORMAT_Y410:
    case CU_AD_FORMAT_UNORM_INT_101010_2:
      return packed(4);
    case CU_AD_FORMAT_Y416:
      return packed(8);
    default:
      return sampled_layout(static_cast<SampledFormat>(format));
  }
}

Layout fixed_layout(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_BC1_UNORM:
    case CU_AD_FORMAT_BC1_UNORM_SRGB:
    case CU_AD_FORMAT_BC4_UNORM:
    case CU_AD_FORMAT_BC4_SNORM:
      return compressed(8);
    case CU_AD_FORMAT_BC2_UNORM:
    case CU_AD_FORMAT_BC2_UNORM_SRGB:
    case CU_AD_FORMAT_BC3_UNORM:
    case CU_AD_FORMAT_BC3_UNORM_SRGB:
    case CU_AD_FORMAT_BC5_UNORM:
    case CU_AD_FORMAT_BC5_SNORM:
    case CU_AD_FORMAT_BC6H_UF16:
    case CU_AD_FORMAT_BC6H_SF16:
    case CU_AD_FORMAT_BC7_UNORM:
    case CU_AD_FORMAT_BC7_UNORM_SRGB:
      return compressed(16);
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
      return packed(1);
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
      return packed(2);
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
      return packed(4);
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return packed(8);
    default:
      return video_layout(format);
  }
}

unsigned channel_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
    default:  // of a later CUDA: as wide as any, or no limit would hold for it
      return 4;
  }
}

Layout layout_of(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  Layout layout = fixed_layout(descriptor.Format);
  if (layout.unit_bytes == 0) {
    const unsigned channels = descriptor.NumChannels == 0 ? 1 : descriptor.NumChannels;
    layout.unit_bytes = channel_bytes(descriptor.Format) * channels;
  }
  return layout;
}

constexpr std::uint64_t divide_up(std::uint64_t value, unsigned by) {
  return (value + by - 1) / by;
}

std::uint64_t plane_bytes(const Layout& layout, std::uint64_t width, std::uint64_t height) {
  return divide_up(width, layout.block) * divide_up(height, layout.block) * layout.unit_bytes +
         divide_up(width, layout.chroma_x) * divide_up(height, layout.chroma_y) *
             layout.chroma_bytes;
}

// An extent that is not used is given as 0.
constexpr std::uint64_t at_least_one(std::uint64_t extent) { return extent == 0 ? 1 : extent; }

// Layers, and the faces of a cube, are no extent in space: they stay as many at every level.
bool has_layers(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  return (descriptor.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
}

}  // namespace

std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  return mipmapped_array_bytes(descriptor, 1);
}

std::uint64_t mipmapped_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels) {
  if ((descriptor.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0) return 0;
  const Layout layout = layout_of(descriptor);
  const bool layers = has_layers(descriptor);
  std::uint64_t width = at_least_one(descriptor.Width);
  std::uint64_t height = at_least_one(descriptor.Height);
  std::uint64_t depth = at_least_one(descriptor.Depth);
  std::uint64_t bytes = plane_bytes(layout, width, height) * depth;
  for (unsigned level = 1; level < levels; ++level) {
    if (width == 1 && height == 1 && (layers || depth == 1)) break;
    width = at_least_one(width / 2);
    height = at_least_one(height / 2);
    if (!layers) depth = at_least_one(depth / 2);
    bytes += plane_bytes(layout, width, height) * depth;
  }
  return bytes;
}

}  // namespace nvs::interposer::memory
