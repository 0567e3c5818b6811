#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvshare-scheduler where NVML has lost a GPU, or does not return: the real program with an NVML
that says what files say.

usage: FAKE_NVML=LIBRARY NVSHARECTL=PROGRAM nvml_test.py SCHEDULER [UNITTEST_ARGUMENT...]
"""

import os
import subprocess
import unittest

from daemon_case import Daemon, DaemonCase
from wire_client import PATIENCE_S

UUID = "GPU-00000000-1122-3344-5566-778899aabbcc"
FIRST_UUID = "GPU-00000001-1122-3344-5566-778899aabbcc"  # on the bus, so it is asked about first
FIRST_BYTES = bytes.fromhex(FIRST_UUID[4:].replace("-", ""))
LAST_UUID = "GPU-00000002-1122-3344-5566-778899aabbcc"


class Silence(DaemonCase):
    def start(self):
        self.free_file = self.folder.with_name("free")
        self.free_file.write_text("1")
        self.lost_file = self.folder.with_name("lost")
        self.lost_file.touch()
        nvml = {"NVSHARE_NVML": os.environ["FAKE_NVML"]}
        nvml["NVSHARE_FAKE_NVML_FREE"] = str(self.free_file)
        nvml["NVSHARE_FAKE_NVML_LOST"] = str(self.lost_file)
        return super().start("--host-memory", "0", **nvml)

    def hang(self):
        """From here on a call reads a pipe into which nothing is written."""
        pipe = self.folder.with_name("pipe")
        os.mkfifo(pipe)
        pipe.rename(self.free_file)
        self.pipe = os.open(self.free_file, os.O_WRONLY)  # returns once the other end is open
        self.addCleanup(self.go_on)

    def go_on(self):
        if self.pipe is not None:
            ordinary = self.folder.with_name("ordinary")
            ordinary.write_text("1")
            ordinary.rename(self.free_file)
            os.close(self.pipe)
            self.pipe = None

    def gpus(self):
        return self.ask(command="status")["gpus"]

    def errors(self):
        errors = {gpu["uuid"]: gpu["nvml_error"] for gpu in self.gpus()}
        return {uuid: error for uuid, error in errors.items() if error is not None}

    def table(self):
        command = [os.environ["NVSHARECTL"], "--folder", str(self.folder), "status"]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=True
        ).stdout

    def test_a_lost_gpu_is_said_once_and_shown(self):
        self.start()
        self.assertEqual(self.errors(), {})
        self.lost_file.write_text("0")
        line = self.daemon.wait_for_log("a GPU does not answer")
        self.assertRegex(line, f'level=warning.* gpu={UUID} error="Fake Error"')
        self.assertEqual(self.errors(), {UUID: "Fake Error"})
        self.assertRegex(self.table(), r"\nGPU 1 does not answer: Fake Error\n\n")
        self.lost_file.write_text("")
        line = self.daemon.wait_for_log("a GPU")
        self.assertRegex(line, rf'level=info.* msg="a GPU answers again" gpu={UUID} after_ms=\d+')
        self.assertEqual(self.errors(), {})
        self.assertNotIn("does not answer", self.table())

    def test_nvml_that_does_not_return_is_said_and_shown(self):
        self.start()
        self.hang()
        line = self.daemon.wait_for_log("a GPU does not answer")
        self.assertRegex(line, f'gpu={FIRST_UUID} error="NVML does not return"')
        others = f"NVML does not return when asked about {FIRST_UUID}"
        silent = {FIRST_UUID: "NVML does not return", UUID: others, LAST_UUID: others}
        self.assertEqual(self.errors(), silent, "nobody asks about the others")
        self.go_on()
        for uuid in (FIRST_UUID, UUID, LAST_UUID):
            self.daemon.wait_for_log("a GPU answers again", uuid)
        self.assertEqual(self.errors(), {})
        self.assertEqual(self.daemon.end(), 0)

    def test_nvml_that_comes_later_is_found(self):
        library = self.folder.with_name("libnvidia-ml.so.1")
        DaemonCase.start(self, "--host-memory", "0", NVSHARE_NVML=str(library))
        first, second = self.tenant(1, FIRST_BYTES), self.tenant(2, FIRST_BYTES)
        self.assertEqual([gpu["memory_bytes"] for gpu in self.gpus()], [0])
        library.symlink_to(os.environ["FAKE_NVML"])
        self.daemon.wait_for_log("NVML knows a GPU that was learnt", FIRST_UUID, "index=0")
        for uuid in (UUID, LAST_UUID):
            self.daemon.wait_for_log("GPU found", uuid)
        # Those who came before are told what their programs may see and have.
        for client in (first, second):
            self.assertGreater(client.expect("Visible").total, 0)
        for gpu in self.gpus():
            self.assertGreater(gpu["capacity_bytes"], 0)
        self.assertEqual(self.daemon.end(), 0)

    def test_nvml_that_does_not_return_keeps_nobody_from_ending(self):
        first = self.start()
        self.hang()
        client = self.connect()
        client.join(1)
        client.ping(1)
        self.assertEqual(first.end(), 0)
        self.go_on()
        self.start()

    def test_nvml_that_does_not_return_at_the_start_keeps_the_folder_from_nobody(self):
        pipe = self.folder.with_name("hangs")
        os.mkfifo(pipe)
        nvml = {"NVSHARE_NVML": os.environ["FAKE_NVML"], "NVSHARE_FAKE_NVML_FREE": str(pipe)}
        # It is asked for the size of GPUs together with what is free of them.
        stuck = Daemon(self.folder, "--host-memory", "0", NVSHARE_FAKE_NVML="no_new_memory", **nvml)
        self.addCleanup(self.clean, stuck)
        written = os.open(pipe, os.O_WRONLY)  # returns once the other end is open
        self.addCleanup(os.close, written)
        self.assertFalse((self.folder / "tenant/scheduler.sock").exists())
        self.start()
        self.connect().join(1)
        stuck.process.terminate()
        self.assertLess(stuck.wait(), 0, "nothing holds back a signal")


if __name__ == "__main__":
    unittest.main()
