#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vehicles come back to a server with TLS that was away for seconds: server_away_test.py PROGRAMS_DIR.

The server is named by a host with two addresses, and is the only one. gRPC goes on with a connection
only while somebody waits for it, so a client that only tries again from time to time stays away.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support" / "python"))
from certificates import Certificates  # noqa: E402
from waiting import eventually, free_port  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv.pop()).resolve()
VEHICLES = 3
# The longest time between two attempts of a client is 6 s (ReconnectOptions), and a machine is loaded.
BACK_AFTER_S = 20


class ServerAway(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="voxloc_away_")))
        self.grpc, self.http = free_port(), free_port()
        certificates = Certificates(self.folder)
        self.authority = certificates.authority[0]
        self.own = certificates.sign("server", "DNS:localhost")
        self.server = None
        self.addCleanup(self.kill)
        self.log = self.enterContext(open(self.folder / "log", "wb"))

    def start(self):
        self.server = subprocess.Popen(
            [PROGRAMS / "voxlocd", f"--listen=127.0.0.1:{self.grpc}", f"--metrics-listen=127.0.0.1:{self.http}",
             f"--data-dir={self.folder}/data", "--engine=cpu", f"--tls.certificate={self.own[0]}",
             f"--tls.private-key={self.own[1]}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        eventually("the server is ready", lambda: "ready" in self.page("readyz"))

    def kill(self):
        self.server.kill()
        self.server.wait()

    def page(self, name):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/{name}", timeout=10) as page:
                return "ready" if name == "readyz" else page.read().decode()
        except OSError:
            return ""

    def sessions(self):
        found = re.search(r"^voxloc_sessions_active (\d+)", self.page("metrics"), re.M)
        return int(found.group(1)) if found else 0

    def command(self, *words):
        return [PROGRAMS / "voxloc", *map(str, words), "--server", f"localhost:{self.grpc}", "--tls-ca", self.authority]

    def test_vehicles_come_back(self):
        town = self.folder / "town"
        subprocess.run([PROGRAMS / "voxloc", "simulate", "--size", "100", "--scans", "10", "--map-spacing", "0.2", town],
                       check=True, stdin=subprocess.DEVNULL, stdout=self.log, timeout=100)
        self.start()
        subprocess.run(self.command("map", "load", "--map", "town", town / "map"), check=True,
                       stdin=subprocess.DEVNULL, stdout=self.log, timeout=100)
        drive = subprocess.Popen(
            self.command("load-test", "--map", "town", "--scans", town / "scans", "--poses", town / "poses.txt",
                         "--points", 300, "--streams", VEHICLES, "--rate", 5, "--seconds", 1000),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            for away_s in (1.5, 3.0):
                eventually("the vehicles are there", lambda: self.sessions() == VEHICLES)
                self.kill()
                time.sleep(away_s)
                self.start()
                with self.subTest(away_s=away_s):
                    eventually("they are back", lambda: self.sessions() == VEHICLES, BACK_AFTER_S)
            self.assertIsNone(drive.poll())
        finally:
            drive.kill()
            drive.wait()


if __name__ == "__main__":
    unittest.main(verbosity=2)
