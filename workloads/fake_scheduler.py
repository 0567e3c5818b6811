#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FakeScheduler: answers `status` on the admin socket as the daemon does, about the processes that
its parent started, and schedules nothing. The first of them holds GPU 0, the others wait for it.

usage: nvshare-scheduler --folder FOLDER      FAKE_ANSWERS=n: it ends after so many answers
"""

import contextlib
import itertools
import json
import os
import pathlib
import socket
import sys


def tenant_pids():
    parent = os.getppid()
    text = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii")
    return [int(pid) for pid in text.split() if int(pid) != os.getpid()]


def tenant(number, pid):
    use = {
        "gpu": 0,
        "state": "waiting" if number else "running",
        "used_s": 0.0 if number else 1.5,
        "waited_s": 0.25,
        "waiting_now_s": 0.0,
        "longest_wait_s": 0.125,
        "windows": 42,
        "memory_bytes": 0,
    }
    return {"id": 100 + number, "clients": [{"id": number, "pid": pid}], "gpus": [use]}


def numbered(pids, known):
    """With the numbers that they have for as long as any of those that came together is there: the
    first one may be the first to end."""
    if known.keys().isdisjoint(pids):
        known.clear()
    for pid in pids:
        known.setdefault(pid, len(known))
    return [(known[pid], pid) for pid in pids]


def status(answers, known):
    pids = tenant_pids()
    gpu = {
        "index": 0,
        "holder": 100 if pids else None,
        "waiting": max(len(pids) - 1, 0),
        "switches": answers,
        "held_s": answers * 1.0,
        "handover_s": 0.0,
    }
    return {"gpus": [gpu], "tenants": [tenant(*one) for one in numbered(pids, known)]}


def main(folder):
    answers, answers_max = 0, int(os.environ.get("FAKE_ANSWERS", "1000000"))
    known = {}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(f"{folder}/admin.sock")
        listener.listen()
        # Who had to wait too long for an answer gives the connection up, and comes again.
        while answers < answers_max:
            connection, _ = listener.accept()
            with connection, connection.makefile(encoding="utf-8") as lines:
                for line in itertools.islice(lines, answers_max - answers):
                    if json.loads(line).get("command") != "status":
                        return 1
                    text = json.dumps({"ok": True, "result": status(answers, known)}) + "\n"
                    with contextlib.suppress(ConnectionError):
                        connection.sendall(text.encode())
                    answers += 1
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] != ["--folder"] or len(sys.argv) != 3:
        sys.exit("usage: nvshare-scheduler --folder FOLDER")
    sys.exit(main(sys.argv[2]))
