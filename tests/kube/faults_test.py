#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A watch and an API server that refuses, hangs, talks nonsense and goes.

usage: faults_test.py KUBE_WATCH_PRINT [UNITTEST_ARGUMENT...]
"""

import watch_case
from watch_case import WatchCase

HOUR_MS = 3_600_000
LINE_MAX = 8 << 20


class Faults(WatchCase):
    def setUp(self):
        super().setUp()
        self.server.start()

    def check_it_works(self, watch, name="late"):
        """Whatever it was, it is over: what happens now is told."""
        self.server.put(name)
        watch.wait_for(f"added lab/{name} uid-{name}")
        watch.wait_for_health("reachable listed")

    def test_a_token_that_is_refused_until_there_is_a_new_one(self):
        self.write("token", "old")
        self.server.tokens = {"new"}
        watch = self.watch("--folder", str(self.folder))
        self.server.wait_for("list", 3)
        watch.wait_for("warning: the API server answers 401: Unauthorized")
        self.write("token", "new")
        self.check_it_works(watch)
        watch.wait_for("info: the API server answers again")

    def test_a_token_that_becomes_too_old_while_it_watches(self):
        self.write("token", "old")
        self.server.tokens = {"old"}
        watch = self.watch("--folder", str(self.folder))
        self.server.wait_for("watch", 1)
        with self.server.lock:
            self.server.tokens = {"new"}
            self.server.end_watches()
        watch.wait_for_count("unauthorized", 3)
        self.write("token", "new")
        self.check_it_works(watch)
        self.assertEqual(self.server.count("list"), 1, "it goes on where it was")
        tokens = [one["token"] for one in self.server.requests]
        self.assertEqual((tokens[0], tokens[-1]), ("old", "new"))

    def test_a_token_with_a_line_in_it_is_none(self):
        self.write("token", "a\r\nX-Evil: 1")
        watch = self.watch("--folder", str(self.folder))
        watch.wait_for(f"warning: {self.folder}/token holds no token")
        self.assertEqual(self.server.requests, [])

    def test_a_missing_right_is_named(self):
        self.server.fault(kind="list", status=403, reason="Forbidden")
        self.server.fault(kind="watch", status=403, reason="Forbidden")
        watch = self.watch()
        watch.wait_for("needs a ClusterRole with pods: [list, watch]; the API server answers 403")
        watch.wait_for_health("forbidden=2")
        self.check_it_works(watch)

    def test_a_server_that_has_too_much_to_do(self):
        for status in (429, 503):
            self.server.fault(kind="list", status=status, headers={"Retry-After": "1"})
            self.server.fault(kind="watch", status=status, headers={"Retry-After": "1"})
        watch = self.watch()
        watch.wait_for_health("throttled=4")
        self.check_it_works(watch)
        self.assertEqual(self.server.count("list"), 3, "watches go on where they were")

    def test_too_much_to_do_in_the_middle_of_a_list(self):
        for i in range(600):
            self.server.put(f"p-{i:04}")
        self.server.fault(kind="list")
        refusal = {"status": 429, "headers": {"Retry-After": "1"}}
        self.server.fault(kind="list", before=lambda: self.server.delete("p-0000"), **refusal)
        watch = self.watch()
        watch.wait_for_health("reachable listed throttled=1")
        self.assertEqual(len(watch.changes()), 599, "what the first page had is not believed")
        self.assertEqual(self.server.count("list"), 4)

    def test_a_server_that_sends_us_elsewhere(self):
        self.server.fault(status=302, headers={"Location": "/elsewhere"})
        watch = self.watch()
        watch.wait_for("warning: the API server answers 302")
        self.check_it_works(watch)  # and /elsewhere would be a violation

    def test_a_list_that_is_never_answered(self):
        self.server.fault(kind="list", hang=True)
        watch = self.watch(silence=1000)
        watch.wait_for("warning: the API server is silent")
        self.check_it_works(watch)

    def test_a_watch_that_is_never_answered(self):
        self.server.fault(kind="watch", hang=True)
        watch = self.watch(silence=1000)
        watch.wait_for("warning: the API server is silent")
        self.check_it_works(watch)
        self.assertGreaterEqual(self.server.count("list"), 2)

    def test_a_store_that_is_put_back_to_an_earlier_time(self):
        self.server.put("a")
        watch = self.watch(silence=1000)
        self.server.wait_for("watch", 1)
        with self.server.lock:
            self.server.pods.clear()
            self.server.restore(50)
            self.server.end_watches()
        watch.wait_for("removed lab/a uid-a")
        self.check_it_works(watch)

    def test_a_watch_whose_end_is_overdue(self):
        self.server.timeouts = range(1, 2)
        self.server.fault(kind="watch", stall=True)
        watch = self.watch(watch=1000, margin=1000)
        watch.wait_for("warning: the API server is silent")
        self.check_it_works(watch)
        self.assertGreaterEqual(self.server.count("list"), 2)

    def test_death_and_return(self):
        self.server.put("a")
        watch = self.watch()
        self.expect(watch, "added lab/a uid-a")
        self.server.wait_for("watch", 1)
        self.server.stop()
        self.server.delete("a")
        watch.wait_for_count("connect", 1)
        self.server.start()
        self.expect(watch, "added lab/a uid-a", "removed lab/a uid-a")
        self.check_it_works(watch)

    def test_a_server_that_is_not_there_yet(self):
        self.server.stop()
        watch = self.watch()
        watch.wait_for_count("connect", 2)
        self.server.start()
        self.check_it_works(watch)

    def test_nonsense(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        for kind in ("list", "watch"):
            for raw in (
                b"SSH-2.0-OpenSSH_9\r\n",
                head + b"<html>proxy</html>\n",
                head + b'{"type":"ADDED","object":{}}\n',
                head + b'{"type":"ADDED"',
                head + b"\xff\x00\n",
                head + b"[" * 100_000 + b"\n",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            ):
                self.server.fault(kind=kind, raw=raw)
        watch = self.watch(backoff=20)
        self.server.wait(lambda: not self.server.faults, "all nonsense is told")
        self.check_it_works(watch)
        self.assertEqual(watch.changes(), ["added lab/late uid-late"])

    def test_a_refusal_and_the_end_of_its_answer_in_one_packet(self):
        refusal = b'{"type":"ERROR","object":{"kind":"Status","code":410}}\n'
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(refusal)
        self.server.fault(kind="watch", raw=head + refusal)
        watch = self.watch()
        self.server.wait_for("watch", 2)
        self.check_it_works(watch)
        watch.wait_for_health("reachable listed expired=1")
        self.assertEqual(watch.counted("cut"), 0, "the end is not that of the next request")

    def test_a_line_without_an_end(self):
        head = b"HTTP/1.1 200 OK\r\n\r\n"
        self.server.fault(kind="watch", raw=head + b"x" * (LINE_MAX + 1))
        watch = self.watch()
        watch.wait_for("warning: a watch's line is too long")
        self.check_it_works(watch)
        self.assertEqual(self.server.count("list"), 2)

    def test_an_end_does_not_wait_for_the_server(self):
        for kind in ("list", "watch"):
            with self.subTest(kind=kind):
                before = self.server.count(kind)
                self.server.fault(kind=kind, hang=True)
                watch = self.watch(silence=HOUR_MS)
                self.server.wait_for(kind, before + 1)
                self.assertEqual(watch.end(), 0)

    def test_an_end_does_not_wait_for_the_next_attempt(self):
        self.server.stop()
        watch = self.watch(backoff=HOUR_MS)
        watch.wait_for_count("connect", 1)
        self.assertEqual(watch.end(), 0)


if __name__ == "__main__":
    watch_case.main()
