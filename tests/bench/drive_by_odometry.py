#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives the data sets of a list by odometry through a server whose session has a filter.

Usage: tests/bench/drive_by_odometry.py LIST OUT [NAME...] [--scans N] [--programs DIR]
           [--server ADDR] [--start-sigma S] [--simulate FLAGS] [--replay FLAGS]

For each data set of LIST (choosing, judging, or a file like these) whose name contains a NAME (none:
for each): simulates it with odometry into OUT/NAME, unless that is complete already, loads its map,
replays the drive with `voxloc replay --fusion` into OUT/NAME/fusion.json, with the times of points
that have some, and prints a row of a Markdown table. The first guess is the truth, and the server is
told that it is known as well as --start-sigma says. Without --server a voxlocd of its own serves on the
CPU. Data sets with other flags in --simulate need another OUT. Nothing but the standard library is
needed.

Example: tests/bench/drive_by_odometry.py choosing /tmp/drives tunnel corridor \\
             --replay "--gate rule=reference"
"""

import argparse
import json
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support/python"))
from voxlocd import Voxlocd  # noqa: E402  pylint: disable=wrong-import-position

# What a pose along the heading comes back within after a stretch that scans do not observe.
RETURNED_M = 0.1
# A fused pose farther from the truth, and outside 3 sigma, is lost; as replay's accepted_wrong.
LOST_M = 1.0

COLUMNS = ["Set", "Dead reckoning at most, m", "Accepted", "Own error along p50 / max, m",
           "Fused error along p50 / max, m", "Fused error across p50 / max, m",
           "Fused at the end along, m", "Beyond, m", "Within 3 sigma along", "across",
           "Accepted outside 3 sigma", "Scans to return", "Resets", "Lost"]


def flags_by_name(path, wanted):
    """The flags of the list's data sets whose name contains one of `wanted`; none: of all."""
    lines = path.read_text(encoding="utf-8").splitlines()
    sets = dict(line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#"))
    return {name: of for name, of in sets.items() if not wanted or any(text in name for text in wanted)}


def scans_to_return(rows):
    """After each stretch whose way along no scan observes and that ends more than RETURNED_M off:
    how many scans observe it until the fused pose is within RETURNED_M; None where none is before
    the next stretch, or the end. A reset begins no stretch."""
    counts, count, waiting, unobserved = [], 0, False, False
    for row in rows:
        fused = row["fused"]
        if fused is None:
            continue
        by_motion = fused["sources"][0] == "motion"
        off = abs(fused["error_m"]["along"]) > RETURNED_M
        if by_motion:
            if waiting:
                counts.append(None)
                waiting = False
            unobserved, was_off = True, off
            continue
        if unobserved:
            unobserved, waiting, count = False, was_off, 0
        if waiting:
            count += 1
            if not off:
                counts.append(count)
                waiting = False
    return counts + ([None] if waiting else [])


def lost_scans(rows):
    """Scans after the first fused pose that have none, or one that is off and does not admit it."""
    known, lost = False, 0
    for row in rows:
        fused = row["fused"]
        known = known or fused is not None
        if fused is None:
            lost += known
        elif fused["translation_error_m"] > LOST_M:
            within = fused["within_3_sigma"]
            lost += within is None or not all(within.values())
    return lost


def row_of(name, run):
    """The cells of a replay's JSON."""
    fused = run["fused"]
    if fused is None:
        return [name, f"{run['dead_reckoning']['max_error_m']:.2f}",
                f"{run['accepted']} of {run['scans']}", *["-"] * (len(COLUMNS) - 3)]
    within = fused["within_3_sigma"]

    def errors(of, axis):
        statistics = of["error_m"][axis]
        return f"{statistics['p50']:.3f} / {statistics['max']:.3f}" if statistics["max"] is not None else "-"

    returns = scans_to_return(run["results"])
    return [name, f"{run['dead_reckoning']['max_error_m']:.2f}", f"{run['accepted']} of {run['scans']}",
            errors(run, "along"), errors(fused, "along"), errors(fused, "across"),
            f"{fused['end_m']['along']:.3f}", f"{fused['beyond_dead_reckoning_m']:.3f}",
            f"{within['along']} of {within['of']}", f"{within['across']}",
            str(fused["accepted_outside_3_sigma"]),
            ", ".join("never" if count is None else str(count) for count in returns) or "-",
            str(fused["resets"]), str(lost_scans(run["results"]))]


def markdown(cells):
    return "| " + " | ".join(cells) + " |"


def drive(name, has_point_times, flags, server):
    """Simulates, loads the map and replays; the replay's JSON."""
    simulate = [ROOT / "tests/bench/simulate_scenes", flags.list, flags.out, "--only", name,
                "--voxloc", flags.programs / "voxloc"]
    if flags.scans:
        simulate += ["--scans", str(flags.scans)]
    folder, result = flags.out / name, flags.out / name / "fusion.json"
    for command in (
            [*simulate, "--", "--odometry", *shlex.split(flags.simulate)],
            [flags.programs / "voxloc", "map", "load", "--server", server, "--map", name, folder / "map"],
            [flags.programs / "voxloc", "replay", "--server", server, "--map", name,
             "--scans", folder / "scans", "--poses", folder / "poses_tum.txt", "--pose-format", "tum",
             "--odometry", folder / "odometry.txt", "--fusion", "--covariance", "calibrated",
             "--guess-sigma", flags.start_sigma, "--points", "1500", "--min-range", "1",
             "--point-times", "t" if has_point_times else "none",
             *shlex.split(flags.replay), "--json", result]):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        # 4: no scan was accepted, which the row shows.
        if done.returncode not in (0, 4) or (done.returncode == 4 and "replay" not in command):
            sys.exit(f"drive_by_odometry: {shlex.join(map(str, command))}\n{done.stdout}")
    return json.loads(result.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", help="choosing, judging, or a file")
    parser.add_argument("out", type=pathlib.Path, help="folder of the data sets and the results")
    parser.add_argument("names", nargs="*", help="parts of the names of the data sets; none: all")
    parser.add_argument("--scans", type=int, help="take N scans of each drive, not the list's number")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin",
                        help="the folder of voxlocd and voxloc")
    parser.add_argument("--server", help="HOST:PORT; default: a voxlocd of its own")
    parser.add_argument("--start-sigma", default="0.1,0.1,0.1,0.5,0.5,0.5",
                        help="of the first guess, as --guess-sigma of voxloc replay (default: 0.1 m, 0.5 deg)")
    parser.add_argument("--simulate", default="", help="more flags of voxloc simulate")
    parser.add_argument("--replay", default="", help="more flags of voxloc replay")
    flags = parser.parse_args()
    own = ROOT / "tests/bench/scenes" / f"{flags.list}.txt"
    path = own if own.is_file() else pathlib.Path(flags.list)
    if not path.is_file():
        parser.error(f"LIST must be choosing, judging or a file (got {flags.list})")
    sets = flags_by_name(path, flags.names)
    if not sets:
        parser.error(f"no data set of {flags.list} has a name with one of {flags.names}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server ends too
    with tempfile.TemporaryDirectory(prefix="voxloc_drives_") as folder:
        server = None
        if not flags.server:
            server = Voxlocd([flags.programs / "voxlocd", "--engine=cpu"], folder)
        try:
            print(markdown(COLUMNS), markdown(["---"] * len(COLUMNS)), sep="\n", flush=True)
            for name, simulated in sets.items():
                has_point_times = "--point-times" in simulated.split()
                run = drive(name, has_point_times, flags, flags.server or server.address)
                print(markdown(row_of(name, run)), flush=True)
        finally:
            if server is not None:
                server.stop()


if __name__ == "__main__":
    main()
