// SPDX-License-Identifier: Apache-2.0
// The built-in kernels on memory that lies in many pieces, whose borders fall inside of floats.
#include "cuda_sim/kernels/builtin.h"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "cuda_sim/kernels/floats.h"

namespace nvs::sim {
namespace {

constexpr bool in_stripe(std::uint64_t i) { return i % kStripeBlock < kStripe; }

// An array of floats in pieces of odd sizes, each in a place of its own.
class Scattered {
 public:
  Scattered(std::uint64_t floats, float value) : floats_(floats) {
    constexpr std::array<std::uint64_t, 5> kSizes = {1003, 1, 4096, 65'537, 6};
    std::uint64_t left = floats * sizeof(float);
    for (std::size_t i = 0; left > 0; ++i) {
      const std::uint64_t bytes = std::min(left, kSizes[i % kSizes.size()]);
      pieces_.emplace_back(bytes);
      left -= bytes;
    }
    for (auto& piece : pieces_) view_.append(nullptr, 0, piece.data(), piece.size());
    for (std::uint64_t i = 0; i < floats; ++i) set(i, value);
  }

  const View& view() const { return view_; }
  std::uint64_t size() const { return floats_; }

  float get(std::uint64_t index) const {
    StripeBuffer value{};
    read_floats(view_, index, 1, value);
    return value[0];
  }
  void set(std::uint64_t index, float value) { write_floats(view_, index, 1, {value}); }

  // Whether the stripes hold one value and all other elements another.
  void expect(float stripe, float rest) const {
    for (std::uint64_t i = 0; i < floats_; ++i) {
      ASSERT_EQ(get(i), in_stripe(i) ? stripe : rest) << i;
    }
  }

 private:
  std::uint64_t floats_;
  std::vector<std::vector<std::byte>> pieces_;
  View view_;
};

// Packs arguments as a launch does: each aligned to its own size, and nothing after the last.
class Arguments {
 public:
  template <class... T>
  explicit Arguments(T... values) {
    (add(values), ...);
  }
  const std::byte* data() const { return bytes_.data(); }

 private:
  template <class T>
  void add(const T& value) {
    const std::size_t at = (bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    bytes_.resize(at + sizeof(T));
    bytes_.shrink_to_fit();
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  std::vector<std::byte> bytes_;
};

constexpr std::uint64_t kAddress = 0;  // kernels compute on views; addresses are for the look-up

std::uint64_t run(const char* name, const Arguments& arguments, std::vector<View> views) {
  return find_builtin(name)->run(arguments.data(), views);
}

// Two blocks and a rest that ends inside of a stripe.
constexpr std::uint64_t kN = 2 * kStripeBlock + 77;

TEST(Builtin, FillWritesEveryElement) {
  for (const std::uint64_t n : {std::uint64_t{1}, kStripe, kStripe + 1, kStripeBlock, kN}) {
    const Scattered data(n, -1);
    EXPECT_EQ(run("nvs_fill", Arguments(kAddress, 3.0F, n), {data.view()}), 0U);
    data.expect(3, 3);
  }
}

TEST(Builtin, FillEndsWhereItIsTold) {
  Scattered data(kN, -1);
  run("nvs_fill", Arguments(kAddress, 3.0F, kN - 1), {data.view()});
  EXPECT_EQ(data.get(kN - 2), 3);
  EXPECT_EQ(data.get(kN - 1), -1);
}

TEST(Builtin, StepTouchesTheStripesAlone) {
  const Scattered data(kN, 5);
  EXPECT_EQ(run("nvs_step", Arguments(kAddress, 2.0F, kN), {data.view()}), 0U);
  data.expect(7, 5);
}

TEST(Builtin, AddAndAdd3) {
  const Scattered sum(kN, 1);
  const Scattered term(kN, 2);
  EXPECT_EQ(run("nvs_add", Arguments(kAddress, kAddress, kN), {sum.view(), term.view()}), 0U);
  sum.expect(3, 1);
  term.expect(2, 2);
  const Scattered out(kN, 0);
  EXPECT_EQ(run("nvs_add3", Arguments(kAddress, kAddress, kAddress, kN),
                {out.view(), sum.view(), term.view()}),
            0U);
  out.expect(5, 0);
}

TEST(Builtin, CheckCountsWhatIsWrongAndAddsToTheCount) {
  Scattered data(kN, 1);
  run("nvs_step", Arguments(kAddress, 1.0F, kN), {data.view()});
  std::uint64_t wrong = 100;
  View count;
  count.append(nullptr, 0, reinterpret_cast<std::byte*>(&wrong), sizeof wrong);
  const Arguments arguments(kAddress, 1.0F, 2.0F, kN, kAddress);
  EXPECT_EQ(run("nvs_check", arguments, {data.view(), count}), 0U);
  EXPECT_EQ(wrong, 100U);
  for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{250}, kStripe, kN - 1}) {
    data.set(index, 9);
  }
  run("nvs_check", arguments, {data.view(), count});
  EXPECT_EQ(wrong, 104U);
}

TEST(Builtin, FreshValuesAreCountedWhereTheyAreRead) {
  const float fresh = std::bit_cast<float>(kPoison);
  Scattered data(kN, 0);
  data.set(3, fresh);
  data.set(kStripeBlock, fresh);
  data.set(kStripe, fresh);  // outside of the stripe: a step does not read it
  EXPECT_EQ(run("nvs_step", Arguments(kAddress, 1.0F, kN), {data.view()}), 2U);
  const Scattered all(kN, fresh);
  EXPECT_EQ(run("nvs_fill", Arguments(kAddress, 1.0F, kN), {all.view()}), 0U);
}

TEST(Builtin, MatmulComputesItsPoints) {
  constexpr std::uint32_t kSide = 40;
  const Scattered c(kSide * kSide, -1);
  Scattered a(kSide * kSide, 1);
  const Scattered b(kSide * kSide, 2);
  a.set(0, 11);
  EXPECT_EQ(run("nvs_matmul", Arguments(kAddress, kAddress, kAddress, kSide),
                {c.view(), a.view(), b.view()}),
            0U);
  constexpr std::uint64_t kStride = kSide * kSide / 64;
  for (std::uint64_t i = 0; i < kSide * kSide; ++i) {
    const bool point = i % kStride == 0 && i / kStride < 64;
    const float product = i < kSide ? 2 * kSide + 20 : 2 * kSide;
    ASSERT_EQ(c.get(i), point ? product : -1) << i;
  }
}

TEST(Builtin, InferSumsTheStripesOfTheWeights) {
  constexpr std::uint64_t kState = 300;  // more than a stripe, and no divisor of anything
  const Scattered weights(kN, 2);
  const Scattered state(kState, 10);
  EXPECT_EQ(
      run("nvs_infer", Arguments(kAddress, kAddress, kN, kState), {weights.view(), state.view()}),
      0U);
  std::array<float, kState> expected{};
  for (std::uint64_t i = 0; i < kN; ++i) expected[i % kState] += in_stripe(i) ? 2.0F : 0.0F;
  for (std::uint64_t j = 0; j < kState; ++j) EXPECT_EQ(state.get(j), 10 + expected[j]) << j;
}

TEST(Builtin, MeetWaitsUntilTheOtherHasComeToo) {
  std::uint32_t words[2] = {6, 0xffffffff};
  View own;
  View other;
  own.append(nullptr, 0, reinterpret_cast<std::byte*>(&words[0]), sizeof words[0]);
  other.append(nullptr, 0, reinterpret_cast<std::byte*>(&words[1]), sizeof words[1]);
  const std::vector<View> views = {own, other};
  const Builtin& meet = *find_builtin("nvs_meet");
  const Arguments arguments(kAddress, kAddress, std::uint32_t{7});
  EXPECT_TRUE(meet.waits(arguments.data(), {})) << "it may";
  EXPECT_EQ(meet.run(arguments.data(), views), 0U);
  EXPECT_EQ(words[0], 7U);
  EXPECT_TRUE(meet.waits(arguments.data(), views)) << "the other is behind, by eight rounds";
  words[1] = 7;
  EXPECT_FALSE(meet.waits(arguments.data(), views));
  words[1] = 8;
  EXPECT_FALSE(meet.waits(arguments.data(), views)) << "the other may be ahead";
  EXPECT_FALSE(find_builtin("nvs_fill")->waits(arguments.data(), {}));
}

TEST(Builtin, TouchesCoverExactlyWhatIsUsed) {
  const auto touches = find_builtin("nvs_add3")
                           ->touches(Arguments(std::uint64_t{0x1000}, std::uint64_t{0x2000},
                                               std::uint64_t{0x3000}, kN)
                                         .data());
  ASSERT_EQ(touches.size(), 3U);
  for (std::size_t i = 0; i < touches.size(); ++i) {
    EXPECT_EQ(touches[i].begin, 0x1000 * (i + 1));
    EXPECT_EQ(touches[i].size, kN * sizeof(float));
  }
  EXPECT_EQ(touches[0].access, Access::read_write);
  EXPECT_EQ(touches[1].access, Access::read);
}

TEST(Builtin, UnknownNames) {
  for (const char* name : {"", "nvs_", "nvs_fil", "nvs_fill2", "NVS_FILL"}) {
    EXPECT_EQ(find_builtin(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace nvs::sim
