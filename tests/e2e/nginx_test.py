#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vehicles drive through a real nginx with deploy/nginx, in front of three servers with the same map,
of which one is killed and two are rolled.

    nginx_test.py SOURCE_DIR PROGRAMS_DIR [--shared-store] [--commits N] [--vehicles N] [--rate HZ]
                  [--points N] [--seconds S] [--drain-spread S] [--max-pause S] [--json FILE]

Every scan that a vehicle sent must have one outcome. With --shared-store the servers have the map in
one PostgreSQL, and N revisions of it are committed while the vehicles drive, through each server in
turn, and one more while a server is down: all servers must answer with each. --seconds is how long
they drive at least: a run that was over before the servers were is repeated, three times as long.
--max-pause is the longest that a vehicle may be without a pose. Exits with 77 where nginx, or
PostgreSQL for --shared-store, is not installed.
"""

import argparse
import contextlib
import json
import math
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
SERVERS = 3

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/python"))
import postgres  # noqa: E402  pylint: disable=wrong-import-position
import proxied_servers  # noqa: E402  pylint: disable=wrong-import-position
from waiting import eventually  # noqa: E402  pylint: disable=wrong-import-position


class Nginx(unittest.TestCase):
    options = None
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cleanup = contextlib.ExitStack()
        cls.addClassCleanup(cls.cleanup.close)
        cls.folder = pathlib.Path(cls.cleanup.enter_context(tempfile.TemporaryDirectory()))
        cls.town = cls.folder / "town"
        cls.call("simulate", "--size", "100", "--scans", "10", "--map-spacing", "0.2", cls.town)
        flags = [f"--drain-spread-s={cls.options.drain_spread}"]
        if cls.options.shared_store:
            database = postgres.Postgres()
            cls.cleanup.callback(database.stop)
            flags.append(f"--store.url={database.url}")
        cls.servers = [
            proxied_servers.Server(cls.cleanup, cls.folder, cls.options.programs / "voxlocd", number, flags)
            for number in range(SERVERS)]
        for server in cls.servers:
            server.launch()
        for server in cls.servers:
            server.wait_until_ready()
        for server in cls.servers[:1] if cls.options.shared_store else cls.servers:
            cls.call("map", "load", "--server", server.grpc, "--map", "town", cls.town / "map")
        eventually("all servers have the map", lambda: all(revision_of(server) == 1 for server in cls.servers))
        cls.commit_times_s = []
        cls.proxy = proxied_servers.Proxy(cls.cleanup, cls.folder, cls.options.source, cls.servers)

    @classmethod
    def client(cls, *arguments):
        return [cls.options.programs / "voxloc", *map(str, arguments)]

    @classmethod
    def call(cls, *arguments):
        return proxied_servers.run(cls.client(*arguments))

    def through_nginx(self, *arguments):
        return (*arguments, *self.proxy.flags())

    def vehicles_on(self, servers):
        return sum(server.sessions() for server in servers) == self.options.vehicles

    def commit(self, writer, servers):
        """Changes a tile through one of the servers while the vehicles drive; all of them, which run, must
        answer with the new revision."""
        revision = revision_of(writer) + 1
        tiles = (path for path in (self.town / "map").rglob("*.pcd") if path.is_file())
        tile = shorter_cloud(min(tiles), self.folder, points=revision)
        self.call("map", "load", "--server", writer.grpc, "--map", "town", "--add", tile)
        self.commit_times_s.append(postgres.await_all_serve([server.log for server in servers], revision))
        for server in servers:
            self.assertEqual(self.answer_of(server), ("OK", revision))

    def answer_of(self, server):
        """How it answers a scan of the drive: the status, and the revision of the map that it used."""
        scan = min((self.town / "scans").iterdir())
        with open(self.town / "poses.txt", encoding="utf-8") as poses:
            pose = [float(number) for number in poses.readline().split()]
        yaw = math.degrees(math.atan2(pose[4], pose[0]))
        answer = json.loads(self.call("align", "--server", server.grpc, "--map", "town", "--guess",
                                      f"{pose[3]},{pose[7]},{pose[11]},0,0,{yaw}", "--points", self.options.points,
                                      "--timeout", proxied_servers.TIMEOUT_S, "--json", "-", scan))
        return answer["status"], answer["map_revision"]

    def kill_and_roll(self, driving):
        """One server is killed, the two others are rolled; False: the drive ended meanwhile."""
        one, *others = self.servers
        eventually("all vehicles drive", lambda: self.vehicles_on(self.servers))
        # Least streams: no server is left without.
        for server in self.servers:
            self.assertGreater(server.sessions(), 0, server.number)
        if self.options.shared_store:
            for number in range(self.options.commits):
                self.commit(self.servers[number % SERVERS], self.servers)
        one.end(signal.SIGKILL)
        eventually("all vehicles go on elsewhere", lambda: self.vehicles_on(others) or driving.poll() is not None)
        if self.options.shared_store:
            self.commit(others[0], others)
        one.start()
        if self.options.shared_store:
            self.assertEqual(self.answer_of(one), ("OK", revision_of(others[0])))
        for server in others:
            rest = [other for other in self.servers if other is not server]
            self.proxy.mark(down=[server])
            self.assertEqual(server.end(signal.SIGTERM), 0)
            eventually("all vehicles go on elsewhere", lambda: self.vehicles_on(rest) or driving.poll() is not None)
            server.start()
            self.proxy.mark()
        return driving.poll() is None

    def drive(self, seconds):
        """The result of the load test, and whether it lasted until the servers were through."""
        result = self.folder / "result.json"
        with open(self.folder / "load-test.log", "wb") as log:
            driving = subprocess.Popen(
                self.client(*self.through_nginx("load-test"), "--map", "town", "--scans", self.town / "scans",
                            "--poses", self.town / "poses.txt", "--points", self.options.points, "--streams", self.options.vehicles,
                            "--rate", self.options.rate, "--seconds", seconds, "--one-outcome", "--json", result),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            lasted = self.kill_and_roll(driving)
            exit_code = driving.wait(timeout=seconds + proxied_servers.TIMEOUT_S)
        finally:
            if driving.poll() is None:
                driving.kill()
                driving.wait()
        text = (self.folder / "load-test.log").read_text(encoding="utf-8")
        self.assertEqual(exit_code, 0, text + self.proxy.log())
        return json.loads(result.read_text(encoding="utf-8")), lasted

    def test_every_scan_has_one_outcome_while_servers_are_killed_and_rolled(self):
        seconds, lasted = self.options.seconds, False
        for _ in range(3):
            result, lasted = self.drive(seconds)
            if lasted:
                break
            seconds *= 3
        self.assertTrue(lasted, "the drive was over before the servers were through")
        if self.commit_times_s:
            result["all_serve_ms"] = {"commits": len(self.commit_times_s),
                                      "p50": 1000 * statistics.median(self.commit_times_s),
                                      "max": 1000 * max(self.commit_times_s)}
            print("all_serve_ms", result["all_serve_ms"])
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
                             text=True, timeout=proxied_servers.TIMEOUT_S, check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("none", run.stderr)


def revision_of(server):
    """The revision of the map that it serves."""
    return server.metric('voxloc_map_revision{map="town"}')


def shorter_cloud(path, folder, points):
    """A copy of a binary PCD file without its last points, of the same name in another folder."""
    head, data, body = path.read_bytes().partition(b"DATA binary\n")
    count = int(re.search(rb"^POINTS (\d+)$", head, re.M).group(1))
    left = b"%d" % (count - points)
    for name in (b"WIDTH", b"POINTS"):
        head, found = re.subn(rb"^%s %d$" % (name, count), name + b" " + left, head, flags=re.M)
        assert found == 1, head
    copy = folder / path.name
    copy.write_bytes(head + data + body[:len(body) // count * int(left)])
    return copy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--shared-store", action="store_true")
    parser.add_argument("--commits", type=int, default=0)
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--vehicles", type=int, default=6)
    parser.add_argument("--rate", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--drain-spread", type=float, default=1)
    parser.add_argument("--max-pause", type=float)
    parser.add_argument("--json", type=pathlib.Path)
    Nginx.options, rest = parser.parse_known_args()
    if Nginx.options.shared_store and not postgres.is_installed():
        print("PostgreSQL's server is not installed (Debian's package postgresql)")
        return SKIPPED
    if proxied_servers.why_not_root_with_nginx():
        print(proxied_servers.why_not_root_with_nginx())
        return SKIPPED
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    sys.exit(main())
