# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import check_purity


class CheckPurity(unittest.TestCase):
    def test_computing_is_pure(self):
        for symbol in (
            "memcpy",
            "_Znwm",
            "_ZdlPvm",
            "_ZN3nvs4core9Scheduler4stepE",
            "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
            "_ZSt17__throw_bad_allocv",
            "_ZNSt6vectorIPN3nvs4core4SeatESaIS3_EE17_M_realloc_insertE",
            "__gxx_personality_v0",
        ):
            self.assertTrue(check_purity.is_pure(symbol), symbol)

    def test_everything_else_is_not(self):
        for symbol in (
            "clock_gettime",
            "epoll_wait",
            "pthread_mutex_lock",
            "getenv",
            "rand",
            "open",
            "write",
            "socket",
            "printf",
            "_ZNSt6chrono3_V212steady_clock3nowEv",
            "_ZNSt6thread15_M_start_threadE",
            "_ZNSt13random_device7_M_finiEv",
            "_ZSt4cout",
            "_ZNSt18condition_variable10notify_oneEv",
        ):
            self.assertFalse(check_purity.is_pure(symbol), symbol)


if __name__ == "__main__":
    unittest.main()
