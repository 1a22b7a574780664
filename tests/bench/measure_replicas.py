#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long it takes until all servers on one database serve a commit.

Usage: tests/bench/measure_replicas.py --programs build/release/bin [--replicas 3] [--commits 50]
           [--points 20000] [--store-url URL] [--json FILE]

Starts several `voxlocd` on one PostgreSQL, and changes one tile of a map through each of them in
turn with `voxloc map load --add`. The servers' logs say when a commit was acknowledged
(map_committed) and when each other server served it (map_followed), to the millisecond and by one
clock. Without --store-url a PostgreSQL of Debian's package is started in a folder of its own.
Nothing but the standard library is needed.
"""

import argparse
import datetime
import glob
import json
import os
import pwd
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

LONGEST_WAIT_S = 60.0


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(condition, what):
    end = time.monotonic() + LONGEST_WAIT_S
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"measure_replicas: {what} took over {LONGEST_WAIT_S:.0f} s")
        time.sleep(0.02)


class Postgres:
    """A server in `directory`; its programs refuse to run as root."""

    def __init__(self, directory):
        bins = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not bins:
            sys.exit("measure_replicas: PostgreSQL is not installed (Debian's package postgresql)")
        self.prefix = ["setpriv", "--pdeathsig", "KILL"]
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(directory, user.pw_uid, user.pw_gid)
            self.prefix += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        port = free_port()
        subprocess.run(self.prefix + [f"{bins[-1]}/initdb", "-D", f"{directory}/cluster",
                                      "--username=voxloc", "--encoding=UTF8", "--locale=C",
                                      "--auth=trust"],
                       check=True, stdout=subprocess.DEVNULL)
        with open(f"{directory}/postgres.log", "wb") as log:
            self.process = subprocess.Popen(
                self.prefix + [f"{bins[-1]}/postgres", "-D", f"{directory}/cluster", "-k", directory,
                               "-c", f"port={port}", "-c", "listen_addresses=127.0.0.1"],
                stdout=log, stderr=log)
        self.url = f"postgresql://voxloc@127.0.0.1:{port}/postgres"
        ready = [f"{bins[-1]}/pg_isready", "--quiet", "--dbname", self.url]
        wait_for(lambda: subprocess.run(ready, check=False).returncode == 0, "the start of PostgreSQL")


class Replica:
    def __init__(self, programs, directory, number, url):
        self.log_path = f"{directory}/voxlocd-{number}.log"
        ready = f"{directory}/voxlocd-{number}.json"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [f"{programs}/voxlocd", "--listen=127.0.0.1:0", "--metrics-listen=off",
                 f"--ready-file={ready}", f"--store.url={url}", "--engine=cpu", "--threads=1"],
                stdout=log, stderr=log)
        wait_for(lambda: os.path.exists(ready) or self.process.poll() is not None,
                 "the start of a server")
        if self.process.poll() is not None:
            with open(self.log_path, encoding="utf-8") as log:
                sys.exit(log.read())
        with open(ready, encoding="utf-8") as file:
            self.address = json.load(file)["listen"]

    def serves_map(self):
        with open(self.log_path, encoding="utf-8") as log:
            return re.search(r"event=(map_committed|map_opened) ", log.read()) is not None

    def served(self):
        """When the server began to serve each revision, seconds."""
        times = {}
        with open(self.log_path, encoding="utf-8") as log:
            for line in log:
                event = re.search(r"event=(map_committed|map_followed) .*?revision=(\d+)", line)
                if event:
                    stamp = datetime.datetime.fromisoformat(line.split()[0].replace("Z", "+00:00"))
                    times.setdefault(int(event.group(2)), (event.group(1), stamp.timestamp()))
        return times


def write_tile(path, points, seed):
    numbers = random.Random(seed)
    with open(path, "w", encoding="ascii") as file:
        file.write("VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
                   f"WIDTH {points}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {points}\nDATA ascii\n")
        for _ in range(points):
            file.write(f"{numbers.uniform(0, 20):.3f} {numbers.uniform(0, 20):.3f} "
                       f"{numbers.uniform(0, 3):.3f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, help="the folder of voxlocd and voxloc")
    parser.add_argument("--voxloc", help="voxloc, where it is in another folder")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--commits", type=int, default=50)
    parser.add_argument("--points", type=int, default=20000, help="of the tile that is changed")
    parser.add_argument("--store-url", help="an empty database; default: one of its own")
    parser.add_argument("--json", help="write the times to this file")
    flags = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="voxloc_replicas_")
    running = []
    try:
        url = flags.store_url
        if url is None:
            postgres = Postgres(directory)
            running.append(postgres.process)
            url = postgres.url
        replicas = [Replica(flags.programs, directory, i, url) for i in range(flags.replicas)]
        running = [replica.process for replica in replicas] + running
        after_s = []
        for commit in range(1, flags.commits + 2):
            writer = replicas[commit % flags.replicas]
            tile = f"{directory}/tile.pcd"
            write_tile(tile, flags.points, commit)
            subprocess.run([flags.voxloc or f"{flags.programs}/voxloc", "map", "load", "--add", "--map", "town",
                            "--server", writer.address, tile],
                           check=True, stdout=subprocess.DEVNULL)
            wait_for(lambda at=commit: all(at in replica.served() for replica in replicas),
                     f"following revision {commit}")
            times = [replica.served()[commit] for replica in replicas]
            acknowledged = next(at for event, at in times if event == "map_committed")
            # The first one creates the map, which opens when its tiles are there.
            if commit == 1:
                wait_for(lambda: all(replica.serves_map() for replica in replicas), "opening the map")
            else:
                after_s.append(max(at for _, at in times) - acknowledged)
        result = {
            "replicas": flags.replicas,
            "commits": len(after_s),
            "points": flags.points,
            "all_serve_ms": {
                "p50": 1000 * statistics.median(after_s),
                "p95": 1000 * sorted(after_s)[int(0.95 * (len(after_s) - 1))],
                "max": 1000 * max(after_s),
            },
        }
        print(json.dumps(result, indent=2))
        if flags.json:
            with open(flags.json, "w", encoding="utf-8") as file:
                json.dump(dict(result, after_s=after_s), file, indent=2)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
