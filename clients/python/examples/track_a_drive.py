#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads a map, searches for the vehicle in it, tracks its drive, and plots the way.

    voxloc simulate --size 150 --scans 25 town
    voxlocd &
    python3 track_a_drive.py town --plot way.png

The drive is a folder as `voxloc simulate` writes it: map/ with PCD files, scans/ with one PCD file
a scan, and poses_tum.txt with the true poses, which the errors are computed from. The first guess
comes from a search of the whole map; every later one is the answer before, moved on by the
vehicle's odometry, for which the true motion stands here.
"""

import argparse
import pathlib
import sys

import numpy as np
import voxloc


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("drive", type=pathlib.Path, help="folder of the drive")
    parser.add_argument("--server", default="localhost:50051", help="HOST:PORT")
    parser.add_argument("--map", default="python-example", help="name of the map on the server")
    parser.add_argument("--plot", type=pathlib.Path, help="write a picture; needs matplotlib")
    arguments = parser.parse_args()

    truth = voxloc.io.read_poses(arguments.drive / "poses_tum.txt")
    files = voxloc.io.list_clouds(arguments.drive / "scans")
    with voxloc.Client(arguments.server) as client:
        try:
            positions = track(client, arguments, truth, files)
        except voxloc.Error as error:
            print(error, file=sys.stderr)
            return 1
    if arguments.plot is not None:
        plot(arguments.plot, positions, np.array([pose.position for _, pose in truth]))
    return 0


def track(client, arguments, truth, files):
    loaded = client.load_map(arguments.map, voxloc.io.read_map(arguments.drive / "map"))
    print(f"map {arguments.map}: {loaded.map.points:,} points in {loaded.map.tiles} tiles")

    # Aligned with every point; searched with one point of each cube of 1.5 m, which is faster.
    coarse = voxloc.Setup(arguments.map, filter=voxloc.messages.ScanFilter(voxel_leaf_m=1.5))
    first = voxloc.Scan(voxloc.io.read_pcd(files[0]), odom_T_base=truth[0][1])
    found = client.search(coarse, first)
    if not found.hypotheses:
        raise SystemExit("the search found no pose")
    best = found.hypotheses[0]
    print(f"search: {best.map_T_base}, confidence {best.confidence:.2f}"
          f"{', ambiguous' if found.ambiguous else ''}")

    setup = voxloc.Setup(arguments.map, vehicle="track_a_drive.py")
    map_T_odom = best.map_T_odom
    positions = []
    with client.session(setup) as session:
        for file, (stamp_ns, odom_T_base) in zip(files, truth):
            result = session.align(voxloc.Scan(
                voxloc.io.read_pcd(file), stamp_ns=stamp_ns, odom_T_base=odom_T_base,
                guess_map_T_base=map_T_odom @ odom_T_base))
            if result.accepted:
                map_T_odom = result.map_T_odom
            pose = result.map_T_base
            positions.append(np.full(3, np.nan) if pose is None else pose.position)
            error = "" if pose is None else f"{100.0 * pose.distance_to(odom_T_base):.1f} cm off"
            print(f"{file.name} {result.status.name} {error}")
    return np.array(positions)


def plot(path, positions, truth):
    try:
        from matplotlib import pyplot
    except ImportError:
        print("matplotlib is not installed: no plot")
        return
    pyplot.plot(truth[:, 0], truth[:, 1], "k-", linewidth=1, label="truth")
    pyplot.plot(positions[:, 0], positions[:, 1], "r.", label="voxloc")
    pyplot.axis("equal")
    pyplot.xlabel("x, m")
    pyplot.ylabel("y, m")
    pyplot.legend()
    pyplot.savefig(path)
    print(f"plot: {path}")


if __name__ == "__main__":
    sys.exit(main())
