# SPDX-License-Identifier: Apache-2.0
"""PyTorch's DataLoader: workers that are forked after CUDA has begun, and a thread that pins."""

import torch


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 2000

    def __getitem__(self, index):
        return torch.full((64,), index % 100, dtype=torch.int64) ** 2


if __name__ == "__main__":
    total = torch.zeros(64, dtype=torch.int64, device="cuda")
    loader = torch.utils.data.DataLoader(
        Squares(), batch_size=50, num_workers=4, pin_memory=True, multiprocessing_context="fork"
    )
    for _ in range(2):
        for batch in loader:
            total += batch.cuda(non_blocking=True).sum(0)
    print(total.sum().item(), total[:4].tolist())
