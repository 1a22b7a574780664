#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vehicles drive through a real nginx with deploy/nginx, in front of three servers with the same map,
of which one is killed and two are rolled.

    nginx_test.py SOURCE_DIR PROGRAMS_DIR [--vehicles N] [--rate HZ] [--seconds S] [--drain-spread S]
                  [--max-pause S] [--json FILE]

Every scan that a vehicle sent must have one outcome. --seconds is how long they drive at least: a run
that was over before the servers were is repeated, three times as long. --max-pause is the longest that
a vehicle may be without a pose. Exits with 77 where nginx is not installed.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.request

SKIPPED = 77
TIMEOUT_S = 100
SERVERS = 3

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/python"))
from certificates import Certificates  # noqa: E402  pylint: disable=wrong-import-position
from waiting import eventually, free_port  # noqa: E402  pylint: disable=wrong-import-position


class Server:
    """One voxlocd, started again at the same addresses with the same maps."""

    def __init__(self, test, number):
        self.test, self.number = test, number
        self.grpc, self.http = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.process = None

    def start(self):
        log = self.test.cleanup.enter_context(open(self.test.folder / f"voxlocd-{self.number}.log", "ab"))
        self.process = subprocess.Popen(
            [self.test.options.programs / "voxlocd", f"--listen={self.grpc}", f"--metrics-listen={self.http}",
             f"--data-dir={self.test.folder}/data-{self.number}", "--engine=cpu",
             # The delay is for proxies that ask for the readiness.
             "--drain-delay-s=0",
             f"--drain-spread-s={self.test.options.drain_spread}"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually(f"server {self.number} is ready",
                   lambda: urllib.request.urlopen(f"http://{self.http}/readyz", timeout=TIMEOUT_S).status == 200)

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(timeout=TIMEOUT_S)

    def sessions(self):
        """How many it has."""
        page = urllib.request.urlopen(f"http://{self.http}/metrics", timeout=TIMEOUT_S).read().decode()
        return int(float(re.search(r"^voxloc_sessions_active (\S+)$", page, re.M).group(1)))


class Nginx(unittest.TestCase):
    options = None
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cleanup = contextlib.ExitStack()
        cls.addClassCleanup(cls.cleanup.close)
        cls.folder = pathlib.Path(cls.cleanup.enter_context(tempfile.TemporaryDirectory()))
        # The workers of nginx have a user of their own.
        os.chmod(cls.folder, 0o755)
        cls.town = cls.folder / "town"
        cls.call("simulate", "--size", "100", "--scans", "10", "--map-spacing", "0.2", cls.town)
        cls.servers = [Server(cls, number) for number in range(SERVERS)]
        for server in cls.servers:
            server.start()
            cls.cleanup.callback(lambda process: process.poll() is None and process.kill(), server.process)
            cls.call("map", "load", "--server", server.grpc, "--map", "town", cls.town / "map")
        cls.start_nginx()

    @classmethod
    def start_nginx(cls):
        cls.nginx_folder = cls.folder / "nginx"
        shutil.copytree(cls.options.source / "deploy/nginx", cls.nginx_folder)
        certificates = Certificates(cls.folder)
        certificate, key = certificates.sign("server", "IP:127.0.0.1")
        shutil.copy(certificate, cls.nginx_folder / "tls.crt")
        shutil.copy(key, cls.nginx_folder / "tls.key")
        cls.authority = certificates.authority[0]
        cls.proxy = f"127.0.0.1:{free_port()}"
        config = cls.nginx_folder / "nginx.conf"
        text = config.read_text(encoding="utf-8")
        for shipped, here in (("listen 50051 ", f"listen {cls.proxy} "), ("/run/nginx-voxloc.pid", f"{cls.folder}/nginx.pid")):
            assert text.count(shipped) == 1, shipped
            text = text.replace(shipped, here)
        config.write_text(text, encoding="utf-8")
        cls.write_servers()
        cls.nginx("-t")
        log = cls.cleanup.enter_context(open(cls.folder / "nginx.log", "wb"))
        process = subprocess.Popen(["nginx", "-c", config, "-g", "daemon off;"], stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log)

        def end():
            process.terminate()
            process.wait(timeout=TIMEOUT_S)

        cls.cleanup.callback(end)
        host, _, port = cls.proxy.partition(":")
        eventually("nginx listens", lambda: socket.create_connection((host, int(port))).close() is None)

    @classmethod
    def nginx(cls, *arguments):
        run = subprocess.run(["nginx", "-c", cls.nginx_folder / "nginx.conf", *arguments], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if run.returncode != 0:
            raise AssertionError(run.stderr)

    @classmethod
    def write_servers(cls, down=()):
        """servers.conf as it ships, with the addresses of this test."""
        text = (cls.options.source / "deploy/nginx/servers.conf").read_text(encoding="utf-8")
        for server in cls.servers:
            name = f"voxloc-{server.number}:50051 "
            assert text.count(name) == 1, name
            text = text.replace(name, server.grpc + (" down " if server in down else " "))
        (cls.nginx_folder / "servers.conf").write_text(text, encoding="utf-8")

    def mark(self, down=()):
        self.write_servers(down)
        self.nginx("-s", "reload")

    @classmethod
    def client(cls, *arguments):
        return [cls.options.programs / "voxloc", *map(str, arguments)]

    @classmethod
    def call(cls, *arguments):
        run = subprocess.run(cls.client(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=TIMEOUT_S, check=False)
        if run.returncode != 0:
            raise AssertionError(f"{arguments}: {run.stdout}{run.stderr}")
        return run.stdout

    def through_nginx(self, *arguments):
        return (*arguments, "--server", self.proxy, "--tls-ca", self.authority)

    def log(self):
        return (self.folder / "nginx.log").read_text(encoding="utf-8")

    def vehicles_on(self, servers):
        return sum(server.sessions() for server in servers) == self.options.vehicles

    def kill_and_roll(self, driving):
        """One server is killed, the two others are rolled; False: the drive ended meanwhile."""
        one, *others = self.servers
        eventually("all vehicles drive", lambda: self.vehicles_on(self.servers))
        # Least streams: no server is left without.
        for server in self.servers:
            self.assertGreater(server.sessions(), 0, server.number)
        one.end(signal.SIGKILL)
        eventually("all vehicles go on elsewhere", lambda: self.vehicles_on(others) or driving.poll() is not None)
        one.start()
        for server in others:
            rest = [other for other in self.servers if other is not server]
            self.mark(down=[server])
            self.assertEqual(server.end(signal.SIGTERM), 0)
            eventually("all vehicles go on elsewhere", lambda: self.vehicles_on(rest) or driving.poll() is not None)
            server.start()
            self.mark()
        return driving.poll() is None

    def drive(self, seconds):
        """The result of the load test, and whether it lasted until the servers were through."""
        result = self.folder / "result.json"
        with open(self.folder / "load-test.log", "wb") as log:
            driving = subprocess.Popen(
                self.client(*self.through_nginx("load-test"), "--map", "town", "--scans", self.town / "scans",
                            "--poses", self.town / "poses.txt", "--points", 300, "--streams", self.options.vehicles,
                            "--rate", self.options.rate, "--seconds", seconds, "--one-outcome", "--json", result),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            lasted = self.kill_and_roll(driving)
            exit_code = driving.wait(timeout=seconds + TIMEOUT_S)
        finally:
            if driving.poll() is None:
                driving.kill()
                driving.wait()
        text = (self.folder / "load-test.log").read_text(encoding="utf-8")
        self.assertEqual(exit_code, 0, text + self.log())
        return json.loads(result.read_text(encoding="utf-8")), lasted

    def test_every_scan_has_one_outcome_while_servers_are_killed_and_rolled(self):
        seconds, lasted = self.options.seconds, False
        for _ in range(3):
            result, lasted = self.drive(seconds)
            if lasted:
                break
            seconds *= 3
        self.assertTrue(lasted, "the drive was over before the servers were through")
        if self.options.json:
            self.options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
        counts = {key: result[key] for key in ("sent", "answered", "accepted", "superseded", "local_stale",
                                               "local_superseded", "lost", "duplicated", "unsent", "reconnects",
                                               "streams_ended", "problems")}
        print(counts, "pause_ms", result["pause_ms"], "latency_ms", result["latency_ms"])
        self.assertGreater(result["accepted"], 0)
        self.assertEqual((result["lost"], result["duplicated"], result["streams_ended"]), (0, 0, 0), counts)
        self.assertEqual(result["sent"], result["answered"] + result["superseded"] + result["local_stale"] +
                         result["local_superseded"], counts)
        # Each vehicle was on the server that was killed or on one of those that were rolled.
        self.assertGreaterEqual(result["reconnects"], self.options.vehicles, counts)
        if self.options.max_pause:
            self.assertLess(result["pause_ms"]["max"], 1000 * self.options.max_pause)

    def test_calls_without_a_stream_and_errors_pass(self):
        listed = json.loads(self.call(*self.through_nginx("map", "list"), "--json", "-"))
        self.assertIn("town", json.dumps(listed))
        run = subprocess.run(self.client(*self.through_nginx("map", "info"), "--map", "none"), capture_output=True,
                             text=True, timeout=TIMEOUT_S, check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("none", run.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--vehicles", type=int, default=6)
    parser.add_argument("--rate", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--drain-spread", type=float, default=1)
    parser.add_argument("--max-pause", type=float)
    parser.add_argument("--json", type=pathlib.Path)
    Nginx.options, rest = parser.parse_known_args()
    if not shutil.which("nginx") and not pathlib.Path("/usr/sbin/nginx").exists():
        print("nginx is not installed")
        return SKIPPED
    if os.geteuid() != 0:
        print("root is needed: nginx is not installed for other users")
        return SKIPPED
    os.environ["PATH"] += ":/usr/sbin"
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    sys.exit(main())
