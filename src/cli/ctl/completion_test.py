#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The completion scripts of nvsharectl and nvshare in the shells that they are for.

usage: completion_test.py NVSHARECTL [UNITTEST_ARGUMENT...]
"""

import os
import pathlib
import pty
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import fake_daemon  # noqa: E402  (beside this file, and not where -E lets Python look)

NVSHARECTL = ""


class Completion(fake_daemon.WithFakeDaemon):
    def bash(self, *words, line=None):
        """What bash offers for a command line, of which the last word is not finished."""
        name = pathlib.Path(words[0]).name
        script = (
            f'eval "$("{NVSHARECTL}" completion bash)"\n'
            f'nvsharectl() {{ "{NVSHARECTL}" "$@"; }}\n'
            f"COMP_WORDS=({' '.join(repr(word) for word in words)})\n"
            f"COMP_LINE={line or ' '.join(words)!r}\n"
            f"COMP_CWORD={len(words) - 1}\n_{name}\n"
            'printf "%s\\n" "${COMPREPLY[@]}"\n'
        )
        done = subprocess.run(
            ["bash", "-c", script],
            env={**os.environ, "NVSHARE_FOLDER": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.stderr, "")
        return done.stdout.split("\n")[:-1]

    def in_bash(self, line, setup=""):
        """The words that the line has become in an interactive bash, which splits it as it does."""
        result = self.folder / "words"
        rc = self.folder / "bashrc"
        rc.write_text(f"{setup}\neval \"$(nvsharectl completion bash)\"\nPS1=READY\n", "utf-8")
        path = f"{pathlib.Path(NVSHARECTL).parent}:{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if "NVSHARE_" not in name}
        us, its = pty.openpty()
        shell = subprocess.Popen(
            ["bash", "--noprofile", "--rcfile", str(rc), "-i"],
            env={**kept, "PATH": path, "TERM": "dumb", "HISTFILE": ""},
            stdin=its,
            stdout=its,
            stderr=its,
            start_new_session=True,
        )
        os.close(its)
        # Control keys go to the line's begin and end, so that it prints what it has become.
        keys = f"{line}\t\x01printf '%s\\n' \x05 >{result}; exit\n".encode()
        said = b""
        try:
            while piece := os.read(us, 4096):
                said += piece
                if b"READY" in said and keys:
                    os.write(us, keys)
                    keys = b""
        except OSError:  # its end is closed
            pass
        os.close(us)
        self.assertEqual(shell.wait(60), 0, said.decode())
        return result.read_text("utf-8").splitlines()

    def test_bash_takes_the_script(self):
        script = subprocess.check_output([NVSHARECTL, "completion", "bash"], text=True)
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        done = subprocess.run(
            ["bash", "-c", f"{script}\ncomplete -p nvsharectl nvshare"],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(
            done.stdout.splitlines(),
            ["complete -F _nvsharectl nvsharectl", "complete -o filenames -F _nvshare nvshare"],
        )

    def test_bash_completes(self):
        self.assertEqual(self.bash("nvsharectl", "st"), ["status"])
        self.assertEqual(self.bash("nvsharectl", "set", "wi"), ["window"])
        self.assertEqual(self.bash("nvsharectl", "set", "mode", "s"), ["serial"])
        self.assertEqual(self.bash("nvsharectl", "status", "-o", ""), ["table", "json"])
        self.assertEqual(self.bash("nvsharectl", "pause", "t"), ["train.py"])
        self.assertEqual(self.bash("nvsharectl", "set", "priority", "low", "s"), ["serve.py"])
        gpus = self.bash("nvsharectl", "set", "mode", "auto", "--gpu", "G")
        self.assertEqual(gpus, ["GPU-00", "GPU-11"])
        self.assertEqual(self.bash("nvsharectl", "set", "cores", "n"), ["none"])
        self.assertEqual(self.bash("nvsharectl", "set", "memory", "4Gi", "s"), ["serve.py"])
        self.assertEqual(self.bash("nvshare", "run", "--mem"), ["--memory"])
        self.assertEqual(self.bash("nvshare", "run", "--pri"), ["--priority"])
        self.assertEqual(self.bash("nvshare", "run", "--priority", "h"), ["high"])
        self.assertIn("python3", self.bash("nvshare", "run", "--", "python"))

    def test_bash_completes_what_it_splits(self):
        ours = f"--folder={self.folder}"
        self.daemon.status["tenants"][0]["name"] = "ml:train"
        for line, word in (
            ("nvshare run --priority=hi", "--priority=high"),
            ("nvshare run --priority hi", "high"),
            ("nvshare run --priority=l", "--priority=low"),
            ("nvshare run --memory=4 --cores=7", "--cores=75"),
            ("nvshare run --cores=25 --pri", "--priority"),
            (f"nvsharectl {ours} pau", "pause"),
            (f"nvsharectl {ours} pause ml", "ml:train"),
            (f"nvsharectl {ours} pause ml:tr", "ml:train"),
            (f"nvsharectl {ours} pause ml:", "ml:train"),
            (f"nvsharectl {ours} set mode auto --gpu=GPU-1", "--gpu=GPU-11"),
            (f"nvsharectl --folder={str(self.folder)[:-1]}", ours),
            (f"nvshare run -- sh of={self.folder}/bashr", f"of={self.folder}/bashrc"),
        ):
            for setup in ("", "COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]}"):
                if setup and "of=" in line:
                    continue  # a file of that name, to that shell
                self.assertEqual(self.in_bash(line, setup)[-1], word, (line, setup))

    def test_bash_knows_what_it_has_split_from_what_is_apart(self):
        offered = self.bash("nvshare", "run", "--priority", "=", "h")
        self.assertNotIn("high", offered)
        offered = self.bash("nvshare", "run", "--priority", "=", "", line="nvshare run --priority=")
        self.assertEqual(offered, ["low", "normal", "high"])
        self.assertEqual(self.bash("nvshare", "run", "--priority", ""), ["low", "normal", "high"])

    def test_names_are_not_obeyed(self):
        self.daemon.status["tenants"][0]["name"] = "x$(touch pwned) y"
        offered = self.bash("nvsharectl", "pause", "x")
        self.assertEqual(offered, [r"x\$\(touch\ pwned\)\ y"])
        self.assertFalse(pathlib.Path("pwned").exists())

    def in_shell(self, *command):
        """What a shell prints that finds nvsharectl, and no daemon by itself."""
        variables = {key: value for key, value in os.environ.items() if "NVSHARE_" not in key}
        variables["PATH"] = f"{pathlib.Path(NVSHARECTL).parent}:{variables['PATH']}"
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=60, check=False
        )
        self.assertEqual(done.stderr, "")
        return done.stdout

    def fish(self, line):
        ask = "nvsharectl completion fish | source; complete -C $argv[1]"
        return self.in_shell("fish", "-c", ask, line).splitlines()

    def zsh(self, line):
        """The words that the line has become: zsh completes only in a terminal."""
        shell = self.folder / "zsh"
        shell.mkdir(exist_ok=True)
        (shell / ".zshrc").write_text(
            "autoload -U compinit; compinit -u -D; bindkey -e\n"
            'eval "$(nvsharectl completion zsh)"; print READY\n',
            "utf-8",
        )
        # Control keys go to the line's begin and end, so that it prints what it has become.
        script = (
            f"zmodload zsh/zpty; zpty z ZDOTDIR={shell} zsh -d -i\n"
            "zpty -r z said '*READY*'\n"
            f"zpty -w z \"$1\"$'\\t\\x01'print -l -- $'\\x05' '>{shell}/words; exit'\n"
            "while zpty -r z said; do :; done\n"
        )
        self.in_shell("zsh", "-f", "-c", script, "zsh", line)
        return (shell / "words").read_text("utf-8").splitlines()

    def test_zsh_completes(self):
        self.assertEqual(self.zsh("nvsharectl st"), ["nvsharectl", "status"])
        folder = f"--folder={self.folder}"
        self.assertEqual(self.zsh(f"nvsharectl {folder} pause t")[-1], "train.py")
        line = f"nvsharectl --folder {self.folder} set mode auto --gpu=GPU-1"
        self.assertEqual(self.zsh(line)[-1], "--gpu=GPU-11")
        self.assertEqual(self.zsh(f"nvsharectl {folder} set cores 25 s")[-1], "serve.py")
        self.assertEqual(self.zsh("nvshare run --pri")[-1], "--priority")

    def test_fish_completes(self):
        self.assertEqual(self.fish("nvsharectl st"), ["status"])
        self.assertEqual(self.fish(f"nvsharectl --folder {self.folder} pause t"), ["train.py"])
        line = f"nvsharectl --folder={self.folder} set mode auto --gpu G"
        self.assertEqual(self.fish(line), ["GPU-00", "GPU-11"])
        self.assertEqual(self.fish("nvshare run --pri"), ["--priority"])


if __name__ == "__main__":
    NVSHARECTL = str(pathlib.Path(sys.argv[1]).resolve())
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
