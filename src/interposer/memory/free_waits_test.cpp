// SPDX-License-Identifier: Apache-2.0
// What is freed waits for work in the context that it belongs to, whichever one is current. A full
// card has no scrap for the driver to free in its place.
#include "interposer/memory/movable_fixture.h"
#include "interposer/memory/swap/free_like_driver.h"

namespace nvs::interposer::memory::waits {
namespace {

constexpr std::uint64_t kOther = 0x07e4;
constexpr CUresult kWaited = CUDA_ERROR_ASSERT;  // so that nothing is freed

std::vector<CUcontext> pushed;
CUcontext waited_in = nullptr;

CUresult push(CUcontext context) {
  pushed.push_back(mock_driver().current);
  mock_driver().current = context;
  return CUDA_SUCCESS;
}
CUresult pop(CUcontext* out) {
  *out = mock_driver().current;
  mock_driver().current = pushed.back();
  pushed.pop_back();
  return CUDA_SUCCESS;
}
CUresult synchronise_current() {
  waited_in = mock_driver().current;
  return waited_in == nullptr ? CUDA_ERROR_INVALID_CONTEXT : kWaited;
}

class FreeWaitsTest : public MovableFixture {
 protected:
  void SetUp() override {
    MovableFixture::SetUp();
    swap::forget_scraps_in_child();
    pushed.clear();
    waited_in = nullptr;
    set_real_for_test<Row::cuCtxPushCurrent_v2>(&push);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&pop);
    set_real_for_test<Row::cuCtxSynchronize>(&synchronise_current);
    driver_.result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  void TearDown() override {
    MovableFixture::TearDown();
    forget<Row::cuCtxPushCurrent_v2, Row::cuCtxPopCurrent_v2, Row::cuCtxSynchronize>();
  }
};

TEST_F(FreeWaitsTest, AFreeOnAFullCardWaitsForItsOwner) {
  for (const std::uint64_t current : {kContext, kOther}) {
    driver_.current = handle_of<CUcontext>(current);
    EXPECT_EQ(hooks::cuMemFree_v2(kRegion), kWaited);
    EXPECT_EQ(waited_in, handle_of<CUcontext>(kContext));
    EXPECT_EQ(driver_.current, handle_of<CUcontext>(current)) << "it is current again";
  }
  EXPECT_TRUE(swap::is_ours(kRegion));
}

TEST_F(FreeWaitsTest, WithoutAContextItFailsAsEver) {
  driver_.current = nullptr;
  EXPECT_EQ(hooks::cuMemFree_v2(kRegion), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_TRUE(swap::is_ours(kRegion));
}

}  // namespace
}  // namespace nvs::interposer::memory::waits
