#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvshare-scheduler and the folder that it has: whom it keeps out, how long its log gets, and what
becomes of the daemon when the folder is no longer its own.

usage: folder_test.py SCHEDULER [UNITTEST_ARGUMENT...]
"""

import contextlib
import fcntl
import os
import shutil
import stat
import subprocess
import unittest

from daemon_case import SCHEDULER, Daemon, DaemonCase, environment
from wire_client import GOODBYE_STOPPING

NOBODY = 65534
KEPT_BYTES = 16 << 20  # kLogBytesMax
SOCKETS = ("tenant/scheduler.sock", "admin.sock", "plugin/plugin.sock")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


class Folders(DaemonCase):
    def check_refused(self, *words):
        daemon = Daemon(self.folder)
        self.addCleanup(self.clean, daemon)
        self.assertEqual(daemon.wait(), 1)
        for word in words:
            self.assertIn(word, daemon.log[-1])

    def test_a_second_daemon_is_refused_and_harms_nobody(self):
        self.start()
        client = self.tenant(1)
        self.check_refused("another nvshare-scheduler", str(self.folder))
        client.want()
        client.expect_open()
        self.tenant(2)

    def test_a_folder_where_nobody_listens_any_more_is_waited_for(self):
        # As a daemon that ends: nobody listens any more, and the lock goes when its memory has.
        self.folder.mkdir(mode=0o755)
        with (self.folder / "lock").open("w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            daemon = Daemon(self.folder)
            self.addCleanup(self.clean, daemon)
            daemon.wait_for_log("does not listen: waiting", str(self.folder))
        daemon.wait_for_log("ready")
        self.tenant(1).ping(1)

    def test_permissions_keep_others_out(self):
        self.addCleanup(os.umask, os.umask(0o077))
        self.start()
        self.assertEqual(mode(self.folder), 0o755)
        self.assertEqual(mode(self.folder / "tenant"), 0o755)
        self.assertEqual(mode(self.folder / "admin.sock"), 0o600)
        for_all = 0o666 if os.geteuid() == 0 else 0o600
        self.assertEqual(mode(self.folder / "tenant" / "scheduler.sock"), for_all)
        self.assertEqual(os.listdir(self.folder / "tenant"), ["scheduler.sock"])

    def test_a_folder_that_others_may_write_into_is_refused(self):
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.check_refused("chmod go-w", str(self.folder))

    def test_a_file_in_the_way_is_named_and_kept(self):
        (self.folder / "tenant").mkdir(parents=True)
        precious = self.folder / "tenant" / "scheduler.sock"
        precious.write_text("precious")
        self.check_refused(str(precious), "not a socket")
        self.assertEqual(precious.read_text(), "precious")

    def test_a_folder_that_cannot_be_made_is_named(self):
        self.folder = self.folder / "no" / "such"
        self.check_refused("cannot make the folder", str(self.folder))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_a_user_without_privileges_has_a_daemon_of_their_own(self):
        self.folder.parent.chmod(0o755)
        self.folder.mkdir()
        os.chown(self.folder, NOBODY, NOBODY)
        self.start(user=NOBODY)
        self.assertEqual(mode(self.folder / "tenant" / "scheduler.sock"), 0o600)
        client = self.tenant(1)
        client.want()
        client.expect_open()
        self.assertEqual(self.daemon.end(), 0)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_a_folder_of_another_user_is_refused(self):
        self.folder.parent.chmod(0o755)
        self.folder.mkdir()
        os.chown(self.folder, NOBODY - 1, NOBODY - 1)
        daemon = Daemon(self.folder, user=NOBODY)
        self.addCleanup(self.clean, daemon)
        self.assertEqual(daemon.wait(), 1)
        self.assertIn("belongs to another user", daemon.log[-1])


class Logs(DaemonCase):
    def test_a_users_daemon_bounds_its_log(self):
        self.folder.mkdir()
        log = self.folder / "scheduler.log"
        log.touch()
        os.truncate(log, KEPT_BYTES + 1)
        with log.open("ab") as end:
            command = [SCHEDULER, "--folder", str(self.folder), "--exit-when-unused"]
            daemon = subprocess.Popen(command, stderr=end, env=environment())
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        client = None
        while client is None:
            self.assertIsNone(daemon.poll())
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                client = self.tenant(1)  # for whom it stays
        while log.stat().st_size > KEPT_BYTES:
            os.sched_yield()
        client.ping(1)
        lines = log.read_text("ascii").splitlines()
        self.assertIn("the log was too long: it begins anew", lines[0])


class LostFolders(DaemonCase):
    """A user's runtime folder goes with their last login, and programs go on."""

    def check_makes_way(self, daemon, client):
        daemon.wait_for_log("stopping", "the folder is gone, or another daemon has it")
        client.expect("Goodbye", reason=GOODBYE_STOPPING)
        client.expect_end()
        self.assertEqual(daemon.wait(), 0)

    def test_without_a_folder_it_ends(self):
        daemon = self.start("--exit-when-unused")
        client = self.tenant(1)
        shutil.rmtree(self.folder)
        self.check_makes_way(daemon, client)
        self.assertFalse(self.folder.exists())

    def test_its_successor_keeps_its_sockets_and_gets_its_clients(self):
        daemon = self.start()
        client = self.tenant(1)
        shutil.rmtree(self.folder)
        self.start()
        self.check_makes_way(daemon, client)
        for name in SOCKETS:
            self.assertTrue((self.folder / name).is_socket(), name)
        self.tenant(1).ping(1)
        self.assertEqual(self.daemon.end(), 0)
        for name in SOCKETS:
            self.assertFalse((self.folder / name).exists(), name)

    def test_one_that_a_signal_stops_at_once_leaves_its_successor_alone(self):
        daemon = self.start()
        shutil.rmtree(self.folder)
        self.start()
        self.assertEqual(daemon.end(), 0)
        for name in SOCKETS:
            self.assertTrue((self.folder / name).is_socket(), name)
        self.tenant(1).ping(1)


if __name__ == "__main__":
    unittest.main()
