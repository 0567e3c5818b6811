# SPDX-License-Identifier: Apache-2.0
"""For tests of scripts that need a GPU machine: a build folder whose daemon and programs are
scripts, with the programs that would need a GPU beside them."""

import contextlib
import io
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

from test_harmless import any_library

# It ends at once unless `check` holds, and answers every `command` with `result`.
DAEMON = """#!{python}
import json, os, socket, sys
assert {check}, sys.argv
admin = socket.socket(socket.AF_UNIX)
admin.bind(os.path.join(sys.argv[sys.argv.index('--folder') + 1], 'admin.sock'))
admin.listen()
while True:
    client, _ = admin.accept()
    command = json.loads(client.makefile().readline())['command']
    client.sendall(json.dumps({{'ok': True, 'result': {result}}}).encode() + b'\\n')
    client.close()
"""


class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("bin", "lib"):
            (self.folder / name).mkdir()
        shutil.copy(any_library(), self.folder / "lib" / "libnvshare.so")
        path = mock.patch.dict(os.environ, {"PYTHONPATH": str(self.folder)})
        path.start()
        self.addCleanup(path.stop)

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def daemon(self, check, result):
        text = DAEMON.format(python=sys.executable, check=check, result=result)
        self.program("bin/nvshare-scheduler", text)

    def run_main(self, main, *arguments):
        shown = io.StringIO()
        folders = ["--build", str(self.folder), "--programs", str(self.folder)]
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            code = main([*folders, *arguments])
        return code, shown.getvalue()
