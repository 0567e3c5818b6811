# SPDX-License-Identifier: Apache-2.0
"""A CUDA program that starts CUDA programs, and then becomes one."""

import os
import subprocess
import sys

import torch

PROGRAM = "import torch; print('{}', torch.arange({}, device='cuda').sum().item())"

print("first", torch.arange(100, device="cuda").sum().item(), flush=True)
for command in (
    [sys.executable, "-c", PROGRAM.format("started", 200)],
    ["sh", "-c", "ls / > /dev/null && git --version | cut -c1-11"],
):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.returncode, done.stdout.strip(), done.stderr.strip(), flush=True)
os.execv(sys.executable, [sys.executable, "-c", PROGRAM.format("executed", 300)])
