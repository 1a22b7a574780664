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
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/python"))
import postgres  # noqa: E402  pylint: disable=wrong-import-position
from waiting import eventually  # noqa: E402  pylint: disable=wrong-import-position


class Replica:
    def __init__(self, programs, directory, number, url):
        self.log_path = f"{directory}/voxlocd-{number}.log"
        ready = f"{directory}/voxlocd-{number}.json"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [f"{programs}/voxlocd", "--listen=127.0.0.1:0", "--metrics-listen=off",
                 f"--ready-file={ready}", f"--store.url={url}", "--engine=cpu", "--threads=1"],
                stdout=log, stderr=log)
        eventually("a server is started",
                   lambda: os.path.exists(ready) or self.process.poll() is not None)
        if self.process.poll() is not None:
            with open(self.log_path, encoding="utf-8") as log:
                sys.exit(log.read())
        with open(ready, encoding="utf-8") as file:
            self.address = json.load(file)["listen"]

    def serves_map(self):
        with open(self.log_path, encoding="utf-8") as log:
            return re.search(r"event=(map_committed|map_opened) ", log.read()) is not None


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
    running, database = [], None
    try:
        url = flags.store_url
        if url is None:
            if not postgres.is_installed():
                sys.exit("measure_replicas: PostgreSQL is not installed (Debian's package postgresql)")
            database = postgres.Postgres()
            url = database.url
        replicas = [Replica(flags.programs, directory, i, url) for i in range(flags.replicas)]
        running = [replica.process for replica in replicas]
        logs = [replica.log_path for replica in replicas]
        after_s = []
        for commit in range(1, flags.commits + 2):
            writer = replicas[commit % flags.replicas]
            tile = f"{directory}/tile.pcd"
            write_tile(tile, flags.points, commit)
            subprocess.run([flags.voxloc or f"{flags.programs}/voxloc", "map", "load", "--add", "--map", "town",
                            "--server", writer.address, tile],
                           check=True, stdout=subprocess.DEVNULL)
            took_s = postgres.await_all_serve(logs, commit)
            # The first one creates the map, which opens when its tiles are there.
            if commit == 1:
                eventually("the map is opened", lambda: all(replica.serves_map() for replica in replicas))
            else:
                after_s.append(took_s)
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
        if database is not None:
            database.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
