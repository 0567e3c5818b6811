# SPDX-License-Identifier: Apache-2.0
"""Starts a PyTorch program at a given time, loaded and with its context made: START PROGRAM ARGS.

A program that has no common start of its own gets one, so that it is measured beside others and not
before they begin.
"""

import runpy
import sys
import time

import torch

torch.cuda.init()
torch.ones(1, device="cuda").add_(1)
torch.cuda.synchronize()
while time.time() < float(sys.argv[1]):
    time.sleep(0.001)
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
