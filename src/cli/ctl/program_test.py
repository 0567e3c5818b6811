#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvsharectl as a user meets it, against a daemon that is a script.

usage: program_test.py NVSHARECTL [UNITTEST_ARGUMENT...]
"""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import fake_daemon  # noqa: E402  (beside this file, and not where -E lets Python look)
import top_screen  # noqa: E402

NVSHARECTL = ""


def run(*arguments, folder=None, variables=None, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NVSHARE_")}
    if folder is not None:
        kept["NVSHARE_FOLDER"] = str(folder)
    kept.update(variables or {})
    return subprocess.run(
        [NVSHARECTL, *arguments], env=kept, capture_output=True, text=True, timeout=60, **more
    )


class WithDaemon(fake_daemon.WithFakeDaemon):
    def good(self, *arguments, **more):
        done = run(*arguments, folder=self.folder, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def bad(self, code, text, *arguments, **more):
        done = run(*arguments, folder=self.folder, **more)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Anvsharectl: [^\n]*" + text + r"[^\n]*\n\Z")


class Status(WithDaemon):
    def test_a_table(self):
        lines = self.good("status").splitlines()
        self.assertRegex(lines[0], r"nvshare 0\.1\.0, pid \d+, up 1m40s, " + str(self.folder))
        self.assertEqual(lines[2].split()[:3], ["GPU", "NAME", "MEMORY"])
        self.assertEqual(lines[6].split()[:4], ["ID", "TENANT", "GPU", "STATE"])
        self.assertEqual(
            lines[7].split(),
            ["1", "train.py", "0", "running", "normal", "10.0s", "500ms", "20ms", "2.0GiB"],
        )
        self.assertLessEqual(max(map(len, lines[1:])), 80)
        self.assertEqual(self.good("status", "-o", "table"), "\n".join(lines) + "\n")

    def test_json_is_the_daemons_result(self):
        self.assertEqual(json.loads(self.good("status", "-o", "json")), self.daemon.status)

    def test_the_folder_may_be_named(self):
        self.daemon.status["version"] = "9.9"
        done = run("--folder", str(self.folder), "status", folder="/nowhere")
        self.assertIn("nvshare 9.9", done.stdout)

    def test_the_users_own_daemon_is_found(self):
        self.daemon.close()
        (self.folder / "nvshare").mkdir()
        own = fake_daemon.FakeDaemon(self.folder / "nvshare")
        self.addCleanup(own.close)
        done = run("status", variables={"XDG_RUNTIME_DIR": str(self.folder)})
        if not pathlib.Path("/var/run/nvshare/admin.sock").exists():
            self.assertIn(f"{self.folder}/nvshare", done.stdout)
            (self.folder / "nvshare").chmod(0o777)
            done = run("status", variables={"XDG_RUNTIME_DIR": str(self.folder)})
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertIn("is not to be trusted: other users may write to it", done.stderr)

    def test_a_long_answer(self):
        many = [fake_daemon.tenant(i, f"t{i}") for i in range(5000)]
        self.daemon.status["tenants"] = many
        self.assertEqual(len(self.good("status").splitlines()), 7 + len(many))


class Changes(WithDaemon):
    def test_settings_reach_the_daemon(self):
        self.assertEqual(self.good("set", "mode", "serial"), "")
        self.good("set", "window", "12.5ms", "--gpu", "1")
        self.good("set", "turn", "0.5s", "--gpu", "GPU-00")
        self.good("set", "mode", "serial", "--gpu", "0", "--gpu", "GPU-11")
        self.good("set", "turn", "auto")
        self.assertEqual(
            self.daemon.requests,
            [
                {"command": "set", "gpu": "all", "mode": "serial"},
                {"command": "set", "gpu": 1, "window_ms": 12.5},
                {"command": "set", "gpu": "GPU-00", "turn_s": 0.5},
                {"command": "set", "gpu": [0, "GPU-11"], "mode": "serial"},
                {"command": "set", "gpu": "all", "turn_s": "auto"},
            ],
        )

    def test_tenants(self):
        self.good("pause", "train.py")
        self.assertTrue(self.daemon.status["tenants"][0]["paused"])
        self.good("resume", "1")
        self.assertFalse(self.daemon.status["tenants"][0]["paused"])
        self.good("set", "priority", "low", "2")
        self.assertEqual(self.daemon.status["tenants"][1]["priority"], "low")
        self.good("set", "weight", "250", "2")
        self.assertIn("low x2.5", self.good("status"))

    def test_limits_reach_the_daemon(self):
        self.good("set", "memory", "1.5Gi", "train.py")
        self.good("set", "cores", "default", "2")
        self.assertEqual(
            self.daemon.requests,
            [
                {"command": "limit", "memory": "1.5Gi", "tenant": "train.py"},
                {"command": "limit", "cores": "default", "tenant": 2},
            ],
        )
        self.bad(2, "'4 GB' is no size: write 4Gi", "set", "memory", "4 GB", "2")
        self.assertEqual(len(self.daemon.requests), 2)

    def test_what_is_in_force_and_not_saved_is_a_failure(self):
        why = {"file": "/f/state.json", "error": "No space left on device"}
        answer = json.dumps({"ok": True, "result": {"unsaved": why}})
        self.daemon.answers.update(set=answer, pause=answer, limit=answer)
        words = "it is in force, but could not be written to /f/state.json: No space left on device"
        for command in (("set", "mode", "auto"), ("pause", "1"), ("set", "memory", "1Gi", "1")):
            self.bad(1, f"{words}; a restart of the daemon will lose it", *command)

    def test_refusals(self):
        self.bad(3, "no tenant 'nobody'", "pause", "nobody")
        answer = {"ok": False, "code": "denied", "error": "not from a container"}
        self.daemon.answers["set"] = json.dumps(answer)
        self.bad(3, "not from a container", "set", "mode", "auto")


class Failures(WithDaemon):
    def test_usage(self):
        self.bad(2, "see nvsharectl --help")
        self.bad(2, "no mode 'x'", "set", "mode", "x")
        self.bad(2, "--nope", "status", "--nope")
        self.assertEqual(self.daemon.requests, [])

    def test_no_daemon(self):
        none = self.folder / "none"
        done = run("status", folder=none)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"no daemon at {none}/admin.sock (No such file or directory)", done.stderr)
        self.assertIn("nvshare run", done.stderr)

    def test_a_daemon_that_ended(self):
        self.daemon.close()
        self.bad(1, r"admin.sock \(Connection refused\).*restarted", "status")

    @unittest.skipIf(os.getuid() != 0, "only root can become somebody else")
    def test_a_socket_of_another_user(self):
        os.chmod(self.folder, 0o755)
        os.chmod(self.folder / "admin.sock", 0o600)
        program = shutil.copy(NVSHARECTL, self.folder / "nvsharectl")
        done = subprocess.run(
            [program, "--folder", str(self.folder), "status"],
            user=65534,
            group=65534,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("(Permission denied); it belongs to another user", done.stderr)

    def test_nonsense_from_the_daemon(self):
        self.daemon.answers["status"] = "nonsense"
        self.bad(1, "not understood.*same version", "status")
        self.daemon.answers["status"] = json.dumps({"ok": True, "result": {"gpus": 7}})
        self.bad(1, "not understood.*same version", "status")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [NVSHARECTL, "--folder", str(self.folder), "status"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        text = "nvsharectl: cannot write the output\n"
        self.assertEqual((done.returncode, done.stderr), (1, text))

    def test_help_and_version(self):
        for arguments in (["--help"], ["set", "--help"], ["--version"]):
            self.assertIn("nvshare", self.good(*arguments))


class Trace(WithDaemon):
    def test_a_file_that_viewers_read(self):
        text = self.good("trace", "--seconds", "10", cwd=self.folder)
        self.assertEqual(
            text,
            "nvshare-trace.json: 3 intervals over 20ms; open it in https://ui.perfetto.dev\n",
        )
        self.assertEqual(self.daemon.requests[-1], {"command": "trace", "seconds": 10})
        trace = json.loads((self.folder / "nvshare-trace.json").read_text("utf-8"))
        events = trace["traceEvents"]
        slices = [event for event in events if event["ph"] == "X"]
        self.assertEqual([event["name"] for event in slices], ["open", "wait", "drain"])
        names = {event["args"]["name"] for event in events if event["name"].endswith("_name")}
        gpus = {"GPU 0 NVIDIA H200 GPU-00", "GPU 1 NVIDIA H200 GPU-11"}
        self.assertEqual(names, {*gpus, "train.py (1)", "serve.py (2)"})
        tracks = {(event["pid"], event["tid"]) for event in slices}
        named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
        self.assertEqual(tracks, named)
        for event in slices:
            self.assertGreaterEqual(min(event["ts"], event["dur"]), 0)

    def test_standard_output(self):
        self.assertIn("traceEvents", json.loads(self.good("trace", "-o", "-")))

    def test_a_young_daemon_is_waited_for(self):
        self.daemon.status["uptime_s"] = 9.9
        done = run("trace", "-o", "-", folder=self.folder)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "nvsharectl: the daemon is young: waiting 100ms\n")
        json.loads(done.stdout)

    def test_a_file_that_cannot_be_written(self):
        self.bad(1, "cannot write /nowhere/t: No such file", "trace", "-o", "/nowhere/t")
        self.bad(1, "cannot write /tmp: Is a directory", "trace", "-o", "/tmp")
        self.assertEqual(self.daemon.requests, [])  # it was not even asked
        self.bad(1, "cannot write /dev/full: No space left", "trace", "-o", "/dev/full")

    def test_a_file_is_kept_until_there_is_another(self):
        kept = self.folder / "kept"
        kept.write_text("older")
        before = sorted(self.folder.iterdir())
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        more = {"preexec_fn": limit, "restore_signals": False}  # Python ignores SIGXFSZ
        self.bad(1, f"cannot write {kept}: File too large", "trace", "-o", str(kept), **more)
        self.assertEqual(kept.read_text(), "older")
        self.assertEqual(sorted(self.folder.iterdir()), before)
        self.good("trace", "-o", str(kept))
        self.assertIn("traceEvents", json.loads(kept.read_text("utf-8")))
        self.assertEqual(sorted(self.folder.iterdir()), before)


if __name__ == "__main__":
    NVSHARECTL = str(pathlib.Path(sys.argv[1]).resolve())
    top_screen.NVSHARECTL = NVSHARECTL
    Top = top_screen.Top
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
