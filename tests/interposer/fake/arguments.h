// SPDX-License-Identifier: Apache-2.0
// Values for arguments that are different in every position of every function, a hash over them as
// the driver receives them, and what a driver in the mode kFakeSucceeds writes into results.
// Program and driver compute both, so an argument that is lost, cut or swapped on the way is
// noticed.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace nvs::fake {

/// A number that looks like no other.
constexpr std::uint64_t scatter(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
  return value ^ (value >> 31U);
}

class Hash {
 public:
  void add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) value_ = (value_ ^ bytes[i]) * 0x100000001b3;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

template <class... Arguments>
std::uint64_t hash_of(const Arguments&... arguments) {
  Hash hash;
  (hash.add(&arguments, sizeof arguments), ...);
  return hash.value();
}

template <class T>
concept Complete = requires {
  sizeof(T);
};

/// A pointer to something that the caller owns, as opposed to one that is a driver's handle.
template <class T>
inline constexpr bool kIsMemory = false;
template <class T>
inline constexpr bool kIsMemory<T*> = Complete<T> || std::is_void_v<T> || std::is_function_v<T>;

/// A pointer through which the driver may hand out a number or a handle.
template <class T>
inline constexpr bool kIsResult = false;
template <class T>
inline constexpr bool kIsResult<T*> =
    !std::is_const_v<T> && (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>);

/// What the driver writes through parameter `position`: small where it might be a count or a
/// device.
template <class T>
T result_value(unsigned row, unsigned position) {
  const std::uint64_t number = scatter(row * 64ULL + position) & 0x0000'7fff'ffff'f000;
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(number);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    return static_cast<T>(number);
  } else {
    return static_cast<T>((row + position) % 2);
  }
}

enum class Size { any, small };

/// Memory for pointer arguments: a piece for each position, all zeroes, far longer than any list.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
using Pieces = std::array<std::array<unsigned char, kPieceBytes>, 16>;

/// The argument for one position. Numbers are kept small where a hook may take them for counts.
template <class T>
T argument(unsigned row, unsigned position, Size size, Pieces& pieces) {
  const std::uint64_t number = scatter(row * 16ULL + position);
  if constexpr (kIsMemory<T>) {
    // An offset of its own for each function, aligned for whatever is there.
    unsigned char* memory = pieces.at(position).data() + (row % 64) * 256;
    T pointer{};
    std::memcpy(&pointer, &memory, sizeof pointer);
    return pointer;
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(number & 0x0000'7fff'ffff'ff00);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(number % 64);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number % 100'000) / 8;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(size == Size::any ? number : 1 + (row + 7 * position) % 100);
  } else {
    T object;
    for (std::size_t i = 0; i < sizeof object; ++i) {
      reinterpret_cast<unsigned char*>(&object)[i] = static_cast<unsigned char>(number >> i % 57);
    }
    return object;
  }
}

}  // namespace nvs::fake
