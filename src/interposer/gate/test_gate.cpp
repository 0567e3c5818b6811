// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/test_gate.h"

#include <cstddef>
#include <fstream>
#include <string>
#include <thread>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interposer/exports/test_real.h"
#include "interposer/gate/gated_call.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

CUresult fake_launch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     unsigned, CUstream, void**, void**) {
  ++fake.inside;
  ++fake.launches;
  if (fake.in_launch) fake.in_launch();
  --fake.inside;
  return CUDA_SUCCESS;
}

CUresult fake_get_device(CUdevice* result) {
  *result = current_device;
  return CUDA_SUCCESS;
}

CUresult fake_is_capturing(CUstream, CUstreamCaptureStatus* status) {
  *status = fake.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

}  // namespace

FakeDriver fake;
thread_local int current_device = 0;

CUresult launch() {
  return GatedCall<Row::cuLaunchKernel>::call(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                                              nullptr);
}

AllSlotsTaken::AllSlotsTaken() {
  for (std::uint32_t i = 0; i < gate::kSlotsMax; ++i) {
    std::uint64_t nobody = 0;
    const auto owner = static_cast<std::uint64_t>(os::thread_id());
    gate::Slot& slot = gate::slot_at(i);
    if (slot.owner.compare_exchange_strong(nobody, owner)) taken_.push_back(&slot);
  }
}

AllSlotsTaken::~AllSlotsTaken() {
  for (gate::Slot* slot : taken_) slot->owner = 0;
}

bool is_asleep(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.at(name_end + 2) == 'S';
}

void wait_until_asleep(int thread) {
  while (!is_asleep(thread)) std::this_thread::yield();
}

int in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    gate::start_over_in_child();
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void forbid_membarrier(Membarrier how) {
  const auto verdict = how == Membarrier::trapped ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | 1U;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, verdict),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, filter};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

void GateTest::SetUp() {
  set_real_for_test<Row::cuLaunchKernel>(&fake_launch);
  set_real_for_test<Row::cuCtxGetDevice>(&fake_get_device);
  set_real_for_test<Row::cuStreamIsCapturing>(&fake_is_capturing);
  fake.in_launch = nullptr;
  fake.launches = 0;
  fake.capturing = false;
  current_device = 0;
}

}  // namespace nvs::interposer
