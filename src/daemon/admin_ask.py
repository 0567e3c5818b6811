# SPDX-License-Identifier: Apache-2.0
"""An administrator of the daemon in a folder, for tests."""

import json
import socket


def ask_admin(folder, patience_s, **request):
    """The whole answer to a request."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as admin:
        admin.settimeout(patience_s)
        admin.connect(str(folder / "admin.sock"))
        admin.sendall(json.dumps(request).encode() + b"\n")
        with admin.makefile() as lines:
            return json.loads(lines.readline())
