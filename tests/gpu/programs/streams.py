# SPDX-License-Identifier: Apache-2.0
"""Six threads, a stream each: pinned copies in, kernels, memory that comes and goes, copies out."""

import threading

import torch

THREADS = 6
ROUNDS = 40
COUNT = 1 << 18
results = [None] * THREADS


def work(number):
    stream = torch.cuda.Stream()
    host = torch.arange(COUNT, dtype=torch.int64).add_(number).pin_memory()
    back = torch.empty_like(host).pin_memory()
    with torch.cuda.stream(stream):
        total = torch.zeros(COUNT, dtype=torch.int64, device="cuda")
        for i in range(ROUNDS):
            total += host.to("cuda", non_blocking=True) * (i + 1)
            if i % 10 == 9:
                torch.cuda.empty_cache()
        back.copy_(total, non_blocking=True)
        stream.synchronize()
    results[number] = int(back.sum())


torch.cuda.init()
threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
