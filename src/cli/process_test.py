#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvshare run with real children: a program must not be able to tell that it was started by it,
but for the library.

usage: process_test.py NVSHARE FOLDER_OF_FAKES [UNITTEST_ARGUMENT...]
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

NVSHARE, FAKES = "", pathlib.Path()
# Where no daemon is, and none can be started.
NO_FOLDER = "/dev/null/nvshare"
SAY_ARGUMENTS = "import json, sys; print(json.dumps(sys.argv[1:]))"
SAY_ENVIRONMENT = "import json, os; print(json.dumps(dict(os.environ)))"
# What a process inherits besides files and variables.
SAY_STATE = "grep -E '^(SigIgn|SigBlk|Umask|Uid|Gid|NoNewPrivs)' /proc/self/status; pwd"


def library():
    return str(FAKES / "libnvshare.so")


def environment(**extra):
    """The caller's variables without those that would change what is tested."""
    ours = ("NVSHARE_", "LD_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, **extra}


def start(command, variables=None, **more):
    """With the folder of a daemon that is not there; daemon_test.py is about those that are."""
    settings = {"NVSHARE_LIBRARY": library(), "NVSHARE_FOLDER": NO_FOLDER, **(variables or {})}
    return subprocess.run(
        command, env=environment(**settings), capture_output=True, text=True, timeout=60, **more
    )


def run(*arguments, variables=None, **more):
    return start([NVSHARE, "run", "--no-daemon", *arguments], variables, **more)


def python(code):
    return (sys.executable, "-c", code)


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def file(self, name, text="", mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path


class Transparency(TemporaryFolder):
    def test_the_exit_code_is_the_programs(self):
        for code in (0, 3, 125, 255):
            self.assertEqual(run("--", "sh", "-c", f"exit {code}").returncode, code)

    def test_so_is_the_signal_that_ends_it(self):
        for name in ("TERM", "KILL", "SEGV"):
            done = run("--", "sh", "-c", f"ulimit -c 0; kill -{name} $$")
            self.assertEqual(done.returncode, -getattr(signal, f"SIG{name}"))

    def test_signals_reach_the_program_itself(self):
        code = (
            "import os, signal, sys\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGALRM})\n"
            "signal.alarm(60)\n"
            "print(os.getpid(), flush=True)\n"
            "sys.exit(signal.sigwait({signal.SIGUSR1, signal.SIGALRM}))\n"
        )
        with subprocess.Popen(
            [NVSHARE, "run", "--no-daemon", "--", *python(code)],
            env=environment(NVSHARE_LIBRARY=library(), NVSHARE_FOLDER=NO_FOLDER),
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            self.assertEqual(int(process.stdout.readline()), process.pid)
            process.send_signal(signal.SIGUSR1)
            self.assertEqual(process.wait(), signal.SIGUSR1)

    def test_arguments_are_kept_to_the_byte(self):
        words = ["", "--", "--debug", "-x", "a b", "$HOME", "*", "--library=x", "\udcff\n", ""]
        done = run("--", *python(SAY_ARGUMENTS), *words)
        self.assertEqual(json.loads(done.stdout), words)
        self.assertEqual(run(*python(SAY_ARGUMENTS), *words).stdout, done.stdout)

    def test_the_program_is_called_what_it_was_called(self):
        done = run("--", "cat", "/proc/self/cmdline")
        self.assertEqual(done.stdout, "cat\0/proc/self/cmdline\0")

    def test_input_and_both_outputs_are_the_programs(self):
        done = run("--", "sh", "-c", "cat; echo two >&2", input="one\n")
        self.assertEqual((done.stdout, done.stderr), ("one\n", "two\n"))

    def test_folder_rights_and_signal_masks_are_inherited(self):
        def prepare():
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
            os.umask(0o027)

        command = ("sh", "-c", SAY_STATE)
        more = {"cwd": self.folder, "preexec_fn": prepare}
        bare = start(command, **more)
        self.assertIn(str(self.folder), bare.stdout)
        self.assertEqual(run("--", *command, **more).stdout, bare.stdout)

    def test_open_files_are_inherited_and_none_are_added(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        command = ("ls", "/proc/self/fd")
        bare = start(command, pass_fds=(writer,))
        self.assertIn(str(writer), bare.stdout.split())
        self.assertEqual(run("--", *command, pass_fds=(writer,)).stdout, bare.stdout)


class Environment(TemporaryFolder):
    def difference(self, *options, variables=None, **more):
        """Which variables a program has with nvshare run that it has not, or not so, without."""
        command = python(SAY_ENVIRONMENT)
        bare = json.loads(start(command, variables, **more).stdout)
        shared = json.loads(run(*options, "--", *command, variables=variables, **more).stdout)
        self.assertLessEqual(set(bare), set(shared))
        return {name: value for name, value in shared.items() if bare.get(name) != value}

    def test_only_the_preload_and_the_run_are_set(self):
        variables = self.difference()
        self.assertRegex(variables.pop("NVSHARE_RUN"), r"\A[0-9a-f]{16}\Z")
        self.assertEqual(variables, {"LD_PRELOAD": library()})

    def test_what_is_preloaded_stays_and_comes_later(self):
        other = shutil.copy(library(), self.folder / "other.so")
        variables = {"LD_PRELOAD": f"{other} {library()}", "NVSHARE_RUN": "00000000000000aa"}
        self.assertEqual(
            self.difference(variables=variables), {"LD_PRELOAD": f"{library()}:{other}"}
        )

    def test_options_set_their_variables(self):
        preload = {"LD_PRELOAD": library()}
        self.assertEqual(self.difference("--disable"), {**preload, "NVSHARE_DISABLE": "1"})
        inner = {"NVSHARE_RUN": "00000000000000aa"}
        self.assertEqual(
            self.difference("--debug", variables=inner), {**preload, "NVSHARE_DEBUG": "1"}
        )
        self.assertEqual(
            self.difference("--priority", "low", variables=inner),
            {**preload, "NVSHARE_PRIORITY": "low"},
        )
        limits = {"NVSHARE_GPU_MEMORY_LIMIT": "4Gi", "NVSHARE_GPU_CORE_LIMIT": "40"}
        self.assertEqual(
            self.difference("--memory", "4Gi", "--cores", "40", variables=inner),
            {**preload, **limits, "NVSHARE_LIMITS_OF_RUN": "memory,cores"},
        )
        outer = {**inner, "NVSHARE_GPU_CORE_LIMIT": "40"}
        self.assertEqual(self.difference("--cores", "40", variables=outer), preload)
        self.assertEqual(
            self.difference("--debug-file", "f.txt", variables=inner, cwd=self.folder),
            {**preload, "NVSHARE_DEBUG": "1", "NVSHARE_DEBUG_FILE": str(self.folder / "f.txt")},
        )
        self.assertFalse((self.folder / "f.txt").exists())


class Library(TemporaryFolder):
    def loaded(self, done):
        """The libnvshare.so in the map of the process that printed it."""
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = {line.split()[-1] for line in done.stdout.splitlines() if "libnvshare" in line}
        self.assertEqual(len(found), 1, done.stdout)
        return found.pop()

    def test_is_loaded_into_the_program_and_what_it_starts(self):
        maps = ("cat", "/proc/self/maps")
        self.assertEqual(self.loaded(run("--", *maps)), library())
        self.assertEqual(self.loaded(run("--", "sh", "-c", "cat /proc/self/maps; :")), library())
        again = (NVSHARE, "run", "--no-daemon", "--", *maps)
        self.assertEqual(self.loaded(run("--", *again)), library())

    def test_is_found_from_where_the_program_is(self):
        program = self.folder / "bin" / "nvshare"
        program.parent.mkdir()
        shutil.copy(NVSHARE, program)
        places = ("lib/libnvshare.so", "lib/nvshare/libnvshare.so")
        for place in reversed(places):
            target = self.folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library(), target)
            command = [program, "run", "--no-daemon", "cat", "/proc/self/maps"]
            done = start(command, {"NVSHARE_LIBRARY": ""})
            self.assertEqual(self.loaded(done), str(target))

    def test_may_be_named(self):
        named = shutil.copy(library(), self.folder / "libnvshare.so")
        done = run("--library", "libnvshare.so", "cat", "/proc/self/maps", cwd=self.folder)
        self.assertEqual(self.loaded(done), str(named))


class Programs(TemporaryFolder):
    def test_scripts_are_fine(self):
        script = self.file("script", "#!/bin/sh\necho $#\nexit 4\n", 0o755)
        done = run("--", script, "a", "b")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (4, "2\n", ""))

    def test_a_file_without_a_header_goes_to_the_shell(self):
        script = self.file("script", "echo $#\nexit 4\n", 0o755)
        done = run("--", "script", "a", variables={"PATH": f"{self.folder}:/usr/bin:/bin"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (4, "1\n", ""), script)

    def test_a_static_program_runs_with_a_warning(self):
        done = run("--", FAKES / "cli_fake_static")
        self.assertEqual(done.returncode, 7)
        self.assertRegex(
            done.stderr, r"\Anvshare: warning: \S+ cannot be shared: it is statically linked.*\n\Z"
        )
        self.assertEqual(run("--disable", "--", FAKES / "cli_fake_static").stderr, "")

    def test_a_program_with_address_sanitizer_runs(self):
        program = str(FAKES / "cli_fake_asan")
        refused = start([program], {"LD_PRELOAD": library()})
        self.assertIn("ASan runtime does not come first", refused.stderr)
        done = run("--", program)
        self.assertEqual((done.returncode, done.stderr), (7, ""))

    @unittest.skipIf(os.getuid() != 0, "only root can make a program that runs as somebody else")
    def test_a_program_with_rights_of_its_own_runs_with_a_warning(self):
        program = shutil.copy("/bin/true", self.folder / "true")
        os.chown(program, 65534, -1)
        os.chmod(program, 0o4755)
        done = run("--", program)
        self.assertEqual(done.returncode, 0)
        confined = "NoNewPrivs:\t1" in pathlib.Path("/proc/self/status").read_text("ascii")
        warning = r"nvshare: warning: \S+ cannot be shared: it runs with rights of its own.*\n"
        self.assertRegex(done.stderr, r"\A\Z" if confined else rf"\A{warning}\Z")
        script = self.file("script", "#!/bin/sh\n")
        os.chown(script, 65534, -1)
        os.chmod(script, 0o4755)
        self.assertEqual(run("--", script).stderr, "")


class Errors(TemporaryFolder):
    def expect(self, code, text, *arguments, variables=None):
        done = start([NVSHARE, *arguments], variables)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Anvshare: [^\n]*" + text + r"[^\n]*\n\Z")

    def test_command_lines(self):
        self.expect(125, "nvshare run -- COMMAND")
        self.expect(125, "write: nvshare run -- ls -l", "ls", "-l")
        self.expect(125, "no command to start", "run")
        self.expect(125, "--frobnicate", "run", "--frobnicate", "--", "ls")
        self.expect(125, "--memory '4 GB' is no size: write 4Gi", "run", "--memory", "4 GB", "ls")
        self.expect(125, "no priority 'x'", "run", "--priority", "x", "--", "ls")
        self.expect(125, "absolute path", "run", "ls", variables={"NVSHARE_FOLDER": "x"})
        self.expect(125, "cannot write to /nowhere/f", "run", "--debug-file", "/nowhere/f", "ls")
        self.expect(125, "it is a folder", "run", "--debug-file", str(self.folder), "ls")

    def test_programs(self):
        self.expect(127, "no program 'nvshare-none'", "run", "--", "nvshare-none")
        self.expect(127, "no program '/none'", "run", "--", "/none")
        self.expect(127, "an empty word", "run", "--", "")
        self.expect(126, "Permission denied", "run", "--", str(self.file("plain")))
        self.expect(126, "Is a directory", "run", "--", str(self.folder))
        script = str(self.file("script", "#!/nowhere/sh\n", 0o755))
        self.expect(127, "its interpreter does not exist", "run", "--no-daemon", "--", script)

    def test_libraries_that_the_loader_would_skip(self):
        self.expect(125, "no library /none.so", "run", "--library", "/none.so", "--", "ls")
        self.expect(125, "correct NVSHARE_LIBRARY", "run", "ls", variables={"NVSHARE_LIBRARY": "x"})
        text = str(self.file("text.so", "text"))
        self.expect(125, "not an ELF file", "run", "--library", text, "--", "ls")
        self.expect(125, "not a shared library", "run", "--library", sys.executable, "--", "ls")
        for name in ("a b.so", "a:b.so", "a$b.so"):
            path = str(shutil.copy(library(), self.folder / name))
            self.expect(125, "has a space, a colon or", "run", "--library", path, "--", "ls")
        other = bytearray(pathlib.Path(library()).read_bytes())
        other[18:20] = (0xF3).to_bytes(2, sys.byteorder)  # RISC-V, which we are not built for
        (self.folder / "other.so").write_bytes(other)
        path = str(self.folder / "other.so")
        self.expect(125, "is for ELF machine 243 and this", "run", "--library", path, "--", "ls")

    def test_output_that_cannot_be_written(self):
        for arguments in (["--help"], ["run", "--version"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run(
                    [NVSHARE, *arguments], stdout=full, stderr=subprocess.PIPE, check=False
                )
            text = b"nvshare: cannot write the output\n"
            self.assertEqual((done.returncode, done.stderr), (125, text))

    def test_help_and_version_go_to_stdout(self):
        for arguments in (["--help"], ["run", "--help"], ["--version"], ["run", "--version"]):
            done = start([NVSHARE, *arguments])
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("nvshare", done.stdout)


if __name__ == "__main__":
    NVSHARE, FAKES = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
