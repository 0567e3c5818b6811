# SPDX-License-Identifier: Apache-2.0
"""To be imported before what the daemon's own tests have: wire_client, admin_ask."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src" / "daemon"))
