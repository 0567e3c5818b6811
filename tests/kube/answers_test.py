#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A watch and an API server that is well: lists, events, pages, histories that are forgotten.

usage: answers_test.py KUBE_WATCH_PRINT [UNITTEST_ARGUMENT...]
"""

import json

import watch_case
from watch_case import Pod, WatchCase


class Answers(WatchCase):
    def setUp(self):
        super().setUp()
        self.server.start()

    def test_pods_of_this_node_and_their_changes(self):
        self.server.put("old", gpu_memory_limit="1Gi")
        self.server.put("elsewhere", node="node-2", gpu_memory_limit="9Gi")
        watch = self.watch()
        expected = ["added lab/old uid-old gpu-memory-limit=1Gi"]
        self.expect(watch, *expected)
        self.server.wait_for("watch", 1)
        for change, line in (
            (lambda: self.server.put("new"), "added lab/new uid-new"),
            (
                lambda: self.server.put("new", gpu_core_limit="40"),
                "changed lab/new uid-new gpu-core-limit=40",
            ),
            (
                lambda: self.server.put("old", gpu_memory_limit="2Gi"),
                "changed lab/old uid-old gpu-memory-limit=2Gi",
            ),
            (
                lambda: self.server.delete("old"),
                "removed lab/old uid-old gpu-memory-limit=2Gi",
            ),
            (
                lambda: self.server.put("old", uid="uid-2"),
                "added lab/old uid-2",
            ),
        ):
            # What is none of our business comes before each, and is not told.
            self.server.touch("old" if "old" in self.server.pods else "new")
            self.server.put("elsewhere", gpu_memory_limit=line)
            change()
            expected.append(line)
            self.expect(watch, *expected)
        self.assertEqual(self.server.count("list"), 1)
        self.assertEqual(self.server.count("watch"), 1)
        watch.wait_for("info: watching the annotations of 1 pods of node node-1")

    def test_more_pods_than_a_page_has(self):
        names = [f"p-{i:04}" for i in range(1100)]
        for name in names:
            self.server.put(name)
        watch = self.watch()
        self.expect(watch, *(f"added lab/{name} uid-{name}" for name in names))
        self.assertEqual(self.server.count("list"), 3)
        self.server.wait_for("watch", 1)

    def test_a_list_whose_pages_expire_begins_anew(self):
        for i in range(600):
            self.server.put(f"p-{i:04}")
        self.server.fault(kind="list")  # which is none: the first page comes
        self.server.fault(kind="list", before=self.server.compact)
        watch = self.watch()
        watch.wait_for_health("listed")
        self.assertEqual(len(watch.changes()), 600)
        self.assertEqual(self.server.count("list"), 4)
        watch.wait_for_health("expired=1")

    def lose_history(self, watch):
        """While nobody watches, all kinds of things happen, and are forgotten."""
        self.expect(watch, "added lab/a uid-a", "added lab/b uid-b", "added lab/c uid-c")
        self.server.wait_for("watch", 1)
        with self.server.lock:
            self.server.end_watches()
            self.server.delete("a")
            self.server.put("b", gpu_core_limit="7")
            self.server.put("d")
            self.server.compact()
        self.expect(
            watch,
            "added lab/a uid-a",
            "added lab/b uid-b",
            "added lab/c uid-c",
            "removed lab/a uid-a",
            "changed lab/b uid-b gpu-core-limit=7",
            "added lab/d uid-d",
        )
        watch.wait_for_health("reachable listed closed=1 expired=1")
        self.server.wait_for("watch", 3)
        self.server.put("c", gpu_core_limit="8")
        watch.wait_for("changed lab/c uid-c gpu-core-limit=8")
        self.assertEqual(self.server.count("list"), 2)

    def test_a_history_that_is_forgotten_said_in_a_line(self):
        for name in "abc":
            self.server.put(name)
        self.lose_history(self.watch())

    def test_a_history_that_is_forgotten_said_by_a_status(self):
        self.server.gone_as_status = True
        for name in "abc":
            self.server.put(name)
        self.lose_history(self.watch())

    def test_a_history_that_is_forgotten_byte_by_byte(self):
        for is_status in (False, True):
            with self.subTest(is_status=is_status):
                self.server.gone_as_status = is_status
                self.server.put("a", gpu_core_limit="1")
                lists, watches = (self.server.count(kind) for kind in ("list", "watch"))
                self.server.fault(kind="watch")
                self.server.fault(kind="watch", torn=True)
                watch = self.watch()
                self.expect(watch, "added lab/a uid-a gpu-core-limit=1")
                self.server.wait_for("watch", watches + 1)
                with self.server.lock:
                    self.server.end_watches()
                    self.server.put("a", gpu_core_limit="2")
                    self.server.compact()
                watch.wait_for("changed lab/a uid-a gpu-core-limit=2")
                watch.wait_for_health("reachable listed closed=1 expired=1")
                self.server.wait_for("watch", watches + 3)
                self.assertEqual(self.server.count("list"), lists + 2)
                self.assertEqual(watch.end(), 0)

    def test_a_history_that_is_forgotten_in_the_middle_of_a_watch(self):
        self.server.put("a")
        lines = [
            {"type": "ADDED", "object": Pod("uid-b", "b", "node-1", None).metadata(102)},
            {"type": "ERROR", "object": {"kind": "Status", "reason": "Expired", "code": 410}},
            {"type": "DELETED", "object": Pod("uid-a", "a", "node-1", None).metadata(103)},
        ]
        body = "".join(json.dumps(line) + "\n" for line in lines)
        raw = b"HTTP/1.1 200 OK\r\n\r\n" + body.encode()
        self.server.fault(kind="watch", raw=raw, before=lambda: self.server.put("b"))
        watch = self.watch()
        watch.wait_for_health("reachable listed expired=1")
        self.server.put("c")
        # What follows the refusal is not believed, and the list is no news.
        self.expect(watch, "added lab/a uid-a", "added lab/b uid-b", "added lab/c uid-c")
        self.assertEqual(self.server.count("list"), 2)

    def test_bookmarks_save_a_list(self):
        watch = self.watch()
        self.server.wait_for("watch", 1)
        for number in range(2, 5):
            # The world goes on, none of it here; only a bookmark keeps up with it.
            self.server.put("elsewhere", node="node-2", gpu_core_limit=str(number))
            self.server.bookmark()
            self.server.put("here", gpu_core_limit=str(number))
            watch.wait_for(f"lab/here uid-here gpu-core-limit={number}")
            self.server.put("elsewhere", gpu_core_limit=f"{number}0")
            self.server.bookmark()
            with self.server.lock:
                self.server.end_watches()
            self.server.wait_for("watch", number)
            self.server.compact()
        self.assertEqual(self.server.count("list"), 1)
        versions = [one["query"].get("resourceVersion") for one in self.server.requests]
        self.assertEqual(versions, [None, "100", "103", "106", "109"])

    def test_events_and_lists_byte_by_byte(self):
        self.server.put("a", gpu_memory_limit="\u00e9")
        self.server.fault(kind="list", torn=True)
        self.server.fault(kind="watch", torn=True)
        watch = self.watch()
        self.server.wait_for("watch", 1)
        self.server.put("b", gpu_memory_limit="1Gi")
        self.expect(
            watch,
            "added lab/a uid-a gpu-memory-limit=\u00e9",
            "added lab/b uid-b gpu-memory-limit=1Gi",
        )
        self.assertEqual(len(self.server.requests), 2)

    def test_a_server_that_ends_watches_again_and_again(self):
        self.server.timeouts = range(1, 2)
        watch = self.watch(watch=1000)
        self.server.wait_for("watch", 4)
        self.server.put("a")
        self.expect(watch, "added lab/a uid-a")
        watch.wait_for_count("closed", 3)
        self.assertEqual(self.server.count("list"), 1)

    def test_a_list_now_and_then(self):
        watch = self.watch(relist=1000)
        self.server.put("a")
        self.server.wait_for("list", 3)
        self.server.put("b")
        self.expect(watch, "added lab/a uid-a", "added lab/b uid-b")
        watch.wait_for_health("reachable listed")

    def test_the_token_is_read_for_each_request(self):
        self.write("token", "first\n")
        self.server.tokens = {"first"}
        watch = self.watch("--folder", str(self.folder))
        self.server.wait_for("watch", 1)
        self.write("token", "second\n")
        self.server.tokens = {"second"}
        self.server.end_watches()
        self.server.wait_for("watch", 2)
        self.server.put("a")
        self.expect(watch, "added lab/a uid-a")
        tokens = [one["token"] for one in self.server.requests]
        self.assertEqual(tokens, ["first", "first", "second"])

    def test_a_pod_finds_all_in_its_environment(self):
        variables = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": "1",
            "NODE_NAME": "node-1",
        }
        watch = self.watch("--folder", str(self.folder), variables=variables)
        watch.wait_for(f"warning: {self.folder}/token: open: No such file or directory")
        self.write("token", "x")
        watch.wait_for(f"warning: {self.folder}/ca.crt: open: No such file or directory")


if __name__ == "__main__":
    watch_case.main()
