// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/engine/worker_thread.h"

#include <thread>
#include <utility>

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

namespace nvs::sim {

void start_worker(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // Inherited by the new thread, so that there is no moment in which it could take a signal.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([body = std::move(body)] {
    prctl(PR_SET_NAME, "cuda-sim");
    prctl(PR_SET_TIMERSLACK, 1);
    body();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace nvs::sim
