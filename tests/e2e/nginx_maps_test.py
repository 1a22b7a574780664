#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vehicles on several maps drive through a real nginx that routes by map, in front of three servers that
load maps on demand from one PostgreSQL; one of them is killed and one is rolled.

    nginx_maps_test.py SOURCE_DIR PROGRAMS_DIR [--maps N] [--vehicles N] [--rate HZ] [--points N] [--seconds S]
                       [--idle-timeout S] [--drain-spread S] [--profile P] [--max-pause S] [--json FILE]

Every scan that a vehicle sent must have one outcome, the vehicles of a map must be on one server, and a map
must be in memory where it is used and nowhere else. --vehicles are those of all maps. --seconds is how long
they drive at least: a run that was over before the servers were is repeated, three times as long.
--max-pause is the longest that a vehicle may be without a pose. Exits with 77 where nginx or PostgreSQL is
not installed.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
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

BY_MAP = (("\n    least_conn;\n", "\n"), ("# hash $voxloc_map consistent;", "hash $voxloc_map consistent;"))


class NginxMaps(unittest.TestCase):
    options = None
    seen = None  # by the number of each server that runs: vehicles by map, and maps in memory

    @classmethod
    def setUpClass(cls):
        cls.cleanup = contextlib.ExitStack()
        cls.addClassCleanup(cls.cleanup.close)
        cls.folder = pathlib.Path(cls.cleanup.enter_context(tempfile.TemporaryDirectory()))
        cls.town = cls.folder / "town"
        cls.call("simulate", "--size", "100", "--scans", "10", "--map-spacing", "0.2", cls.town)
        database = postgres.Postgres()
        cls.cleanup.callback(database.stop)
        flags = [f"--store.url={database.url}", f"--drain-spread-s={cls.options.drain_spread}",
                 f"--residency.idle-timeout-s={cls.options.idle_timeout}"]
        cls.servers = [
            proxied_servers.Server(cls.cleanup, cls.folder, cls.options.programs / "voxlocd", number, flags)
            for number in range(SERVERS)]
        for server in cls.servers:
            server.launch()
        for server in cls.servers:
            server.wait_until_ready()
        cls.proxy = proxied_servers.Proxy(cls.cleanup, cls.folder, cls.options.source, cls.servers, BY_MAP)
        cls.maps = [f"town-{number}" for number in range(cls.options.maps)]
        for name in cls.maps:
            cls.call("map", "load", *cls.proxy.flags(), "--map", name, cls.town / "map")

    @classmethod
    def call(cls, *arguments):
        return proxied_servers.run([cls.options.programs / "voxloc", *arguments])

    def resident(self, server):
        """The names of the maps that the server has in memory; None: it does not know all maps yet."""
        listed = json.loads(self.call("map", "list", "--server", server.grpc, "--json", "-"))["maps"]
        if {one["name"] for one in listed} != set(self.maps):
            return None
        return {one["name"] for one in listed if one["resident_tiles"] > 0}

    def none_resident(self, servers):
        return all(self.resident(server) == set() for server in servers)

    def vehicles(self, server):
        """The numbers of sessions of the server by map."""
        listed = json.loads(self.call("admin", "sessions", "--server", server.grpc, "--json", "-"))["sessions"]
        return collections.Counter(one["map"] for one in listed)

    def by_map(self, servers):
        """The servers of each map's vehicles, once all vehicles are on these servers and the maps are in memory
        there and nowhere else; None: it is not so yet."""
        there = {server: self.vehicles(server) for server in servers}
        self.seen = {server.number: (dict(maps), self.resident(server)) for server, maps in there.items()}
        if sum(sum(maps.values()) for maps in there.values()) != self.options.vehicles:
            return None
        if any(resident != set(maps) for maps, resident in self.seen.values()):
            return None
        return {name: [server for server in servers if there[server][name]] for name in self.maps}

    def kill_and_roll(self, driving):
        """The server of the first map is killed, and the one that its vehicles go to is rolled. False: the drive
        ended meanwhile."""
        def settled(servers):
            try:
                return eventually("all vehicles drive on maps in memory",
                                  lambda: self.by_map(servers) or driving.poll() is not None)
            except AssertionError as error:
                raise AssertionError(f"vehicles and maps in memory by server: {self.seen}") from error

        at = settled(self.servers)
        if at is True:
            return False
        self.assertEqual({len(servers) for servers in at.values()}, {1}, "the vehicles of a map are on one server")
        killed = at[self.maps[0]][0]
        rest = [server for server in self.servers if server is not killed]
        killed.end(signal.SIGKILL)
        at = settled(rest)
        if at is True:
            return False
        self.assertEqual({len(servers) for servers in at.values()}, {1}, "the vehicles of a map are on one server")
        killed.start()
        # It had maps in memory before, and nobody has asked it for any since.
        eventually("no map is in memory after a start", lambda: self.none_resident([killed]))
        rolled = at[self.maps[0]][0]
        self.proxy.mark(down=[rolled])
        self.assertEqual(rolled.end(signal.SIGTERM), 0)
        if settled([server for server in self.servers if server is not rolled]) is True:
            return False
        rolled.start()
        self.proxy.mark()
        return driving.poll() is None

    def drive(self, seconds):
        """The result of the load test, and whether it lasted until the servers were through."""
        result = self.folder / "result.json"
        maps = [word for name in self.maps for word in ("--map", name)]
        with open(self.folder / "load-test.log", "wb") as log:
            driving = subprocess.Popen(
                [str(word) for word in (
                    self.options.programs / "voxloc", "load-test", *self.proxy.flags(), *maps, "--scans",
                    self.town / "scans", "--poses", self.town / "poses.txt", "--points", self.options.points,
                    "--profile", self.options.profile, "--streams", self.options.vehicles, "--rate",
                    self.options.rate, "--seconds", seconds, "--ramp", self.options.ramp, "--one-outcome", "--json",
                    result)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            lasted = self.kill_and_roll(driving)
            exit_code = driving.wait(timeout=seconds + self.options.ramp + proxied_servers.TIMEOUT_S)
        finally:
            if driving.poll() is None:
                driving.kill()
                driving.wait()
        text = (self.folder / "load-test.log").read_text(encoding="utf-8")
        self.assertEqual(exit_code, 0, text + self.proxy.log())
        return json.loads(result.read_text(encoding="utf-8")), lasted

    def test_vehicles_stay_with_the_server_of_their_map_and_no_scan_is_lost(self):
        eventually("no map is in memory before it is used", lambda: self.none_resident(self.servers))
        seconds, lasted = self.options.seconds, False
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            result, lasted = self.drive(seconds)
            if lasted:
                break
            seconds *= 3
        self.assertTrue(lasted, "the drive was over before the servers were through")
        result["cpu_s"] = self.cpu_seconds(before)
        result["map_load_s"] = sorted(float(load_s) for server in self.servers for load_s in re.findall(
            r"event=map_loaded .*load_s=(\S+)", server.log.read_text(encoding="utf-8")))
        if self.options.json:
            self.options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
        counts = {key: result[key] for key in ("sent", "answered", "accepted", "superseded", "local_stale",
                                               "local_superseded", "lost", "duplicated", "unsent", "reconnects",
                                               "streams_ended", "problems")}
        print(counts, "pause_ms", result["pause_ms"], "latency_ms", result["latency_ms"], "cpu_s", result["cpu_s"],
              "map_load_s", result["map_load_s"])
        self.assertGreater(result["accepted"], 0)
        self.assertEqual((result["lost"], result["duplicated"], result["streams_ended"]), (0, 0, 0), counts)
        self.assertEqual(result["sent"], result["answered"] + result["superseded"] + result["local_stale"] +
                         result["local_superseded"], counts)
        # The vehicles of the first map left two servers.
        self.assertGreaterEqual(result["reconnects"], 2 * self.options.vehicles // self.options.maps, counts)
        if self.options.max_pause:
            self.assertLess(result["pause_ms"]["max"], 1000 * self.options.max_pause)
        eventually("no map is in memory after it was used", lambda: self.none_resident(self.servers))

    def cpu_seconds(self, before):
        """What the processes took: those that have ended since `before` (above all the load test, and two servers),
        nginx, and the servers that run."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = {f"server_{server.number}": cpu_of([server.process.pid]) for server in self.servers}
        workers = subprocess.run(["pgrep", "-P", str(self.proxy.process.pid)], capture_output=True, text=True,
                                 check=False).stdout.split()
        return {"load_test_and_ended": ended.ru_utime + ended.ru_stime - before.ru_utime - before.ru_stime,
                "nginx": cpu_of([self.proxy.process.pid, *workers]), **running}


def cpu_of(processes):
    """Processor seconds of processes that run, and of their children that have ended."""
    ticks = 0
    for process in processes:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--maps", type=int, default=4)
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--profile", default="precise")
    parser.add_argument("--vehicles", type=int, default=8)
    parser.add_argument("--rate", type=float, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--ramp", type=float, default=1)
    parser.add_argument("--idle-timeout", type=float, default=1)
    parser.add_argument("--drain-spread", type=float, default=1)
    parser.add_argument("--max-pause", type=float)
    parser.add_argument("--json", type=pathlib.Path)
    NginxMaps.options, rest = parser.parse_known_args()
    why = proxied_servers.why_not_root_with_nginx()
    if why is None and not postgres.is_installed():
        why = "PostgreSQL's server is not installed (Debian's package postgresql)"
    if why is not None:
        print(why)
        return SKIPPED
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
