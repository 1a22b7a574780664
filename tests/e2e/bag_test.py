#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives in bags against the same drives in files: bag_test.py PROGRAMS_DIR."""

import json
import math
import pathlib
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support" / "python"))
import bags  # noqa: E402
import town_drive  # noqa: E402

START_NS = 1_700_000_000_123_456_789
SCANS = town_drive.TownDrive.SCANS
MOUNT = (0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
WRITERS = {
    "drive.db3": bags.write_rosbag2,
    "drive.mcap": bags.write_mcap,
    "drive_none.bag": bags.write_ros1,
    "drive_bz2.bag": lambda path, recording: bags.write_ros1(path, recording, "bz2"),
}


class Bags(town_drive.TownDrive):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        poses = bags.read_kitti_poses(cls.folder / "town/poses.txt")
        assert len(poses) == SCANS
        cls.poses = poses
        (cls.folder / "poses.tum").write_text("".join(
            f"{(START_NS + i * 100_000_000) // 10**9}.{(START_NS + i * 100_000_000) % 10**9:09d} "
            + " ".join(repr(number) for number in pose) + "\n" for i, pose in enumerate(poses)),
            encoding="utf-8")

    def replay(self, *words):
        done = self.run_voxloc("replay", "--server", self.server.address, "--map", "town", "--points",
                               "1500", "--perturb", "0.3,0.3,0.1,0.5,0.5,1", "--json", "-", *words)
        return json.loads(done.stdout), done.stderr

    def assert_same_rows(self, bag, files):
        self.assertEqual(len(bag["results"]), len(files["results"]))
        for row, expected in zip(bag["results"], files["results"]):
            for key in ("stamp_ns", "status", "pose", "truth", "guess", "scores", "iterations",
                        "translation_error_m", "rotation_error_deg"):
                self.assertEqual(row[key], expected[key], f"{key} of scan {row['index']}")

    def test_the_same_drive_gives_the_same_poses_to_the_bit(self):
        files, _ = self.replay("--scans", "town/scans", "--poses", "poses.tum", "--pose-format", "tum")
        self.assertEqual(files["accepted"], SCANS)
        for name, write in WRITERS.items():
            with self.subTest(bag=name):
                write(self.folder / name, bags.drive_recording(self.clouds, self.poses, START_NS))
                bag, said = self.replay("--bag", name)
                self.assert_same_rows(bag, files)
                self.assertIn("points from /points (sensor_msgs/", said)
                self.assertIn("poses from /odometry (nav_msgs/", said)

    def test_the_mount_of_tf_static_is_that_of_the_flag(self):
        files, _ = self.replay("--scans", "town/scans", "--poses", "poses.tum", "--pose-format", "tum",
                               "--base-t-sensor", "0.5,0,1,0,0,0")
        plain, _ = self.replay("--scans", "town/scans", "--poses", "poses.tum", "--pose-format", "tum")
        self.assertNotEqual(files["results"][0]["pose"], plain["results"][0]["pose"])
        bags.write_mcap(self.folder / "mounted.mcap",
                        bags.drive_recording(self.clouds, self.poses, START_NS, MOUNT))
        bag, said = self.replay("--bag", "mounted.mcap")
        self.assert_same_rows(bag, files)
        self.assertIn("the sensor 'lidar' sits on 'base_link' at 0.500 0.000 1.000 m", said)

    def test_guesses_of_a_topic_and_poses_of_a_file(self):
        recording = bags.drive_recording(self.clouds, self.poses, START_NS)
        moved = [[pose[0] + 0.25, *pose[1:]] for pose in self.poses]
        recording += [("/filter", "nav_msgs/msg/Odometry", row[2],
                       bags.Odometry(row[2], "map", "base_link", moved.pop(0)))
                      for row in list(recording) if row[0] == "/odometry"]
        bags.write_rosbag2(self.folder / "two.db3", recording)
        refused = self.run_voxloc("replay", "--server", self.server.address, "--map", "town", "--bag",
                                  "two.db3", expect=1)
        self.assertIn("/filter", refused.stderr)
        done = self.run_voxloc("replay", "--server", self.server.address, "--map", "town", "--points",
                               "1500", "--json", "-", "--bag", "two.db3", "--poses", "poses.tum",
                               "--base-frame", "base_link", "--guesses-topic", "/filter")
        replayed = json.loads(done.stdout)
        self.assertEqual(replayed["guess"], "/filter")
        for row, pose in zip(replayed["results"], self.poses):
            self.assertEqual(row["truth"][:3], pose[:3])
            self.assertEqual(row["guess"][0], pose[0] + 0.25)

    def test_times_of_points_let_the_server_deskew(self):
        self.run_voxloc("simulate", "--size", "100", "--scans", str(SCANS), "--longitudinal", "10",
                        "--skew", "--point-times", "fast")
        poses = bags.read_kitti_poses(self.folder / "fast/poses.txt")
        clouds = [bags.read_pcd_timed_points(path)
                  for path in sorted((self.folder / "fast/scans").iterdir())]
        bags.write_mcap(self.folder / "fast.mcap", bags.drive_recording(clouds, poses, START_NS))

        def errors_m(*words):
            done = self.run_voxloc("replay", "--server", self.server.address, "--map", "town",
                                   "--points", "1500", "--json", "-", "--bag", "fast.mcap",
                                   *words)
            return sorted(row["translation_error_m"] for row in json.loads(done.stdout)["results"])

        skewed = errors_m()
        self.assertGreater(skewed[SCANS // 2], 0.2)
        deskewed = errors_m("--point-times", "auto")
        self.assertLess(deskewed[-1], 0.1)
        self.assertEqual(errors_m("--point-times", "time"), deskewed)
        refused = self.run_voxloc("replay", "--server", self.server.address, "--map", "town", "--bag",
                                  "fast.mcap", "--point-times", "stamp", expect=1)
        self.assertIn("must have the time field 'stamp' (got x, y, z, intensity, ring, time)",
                      refused.stderr)
        bags.write_mcap(self.folder / "plain.mcap",
                        bags.drive_recording(self.clouds, self.poses, START_NS))
        refused = self.run_voxloc("replay", "--server", self.server.address, "--map", "town", "--bag",
                                  "plain.mcap", "--point-times", "auto", expect=1)
        self.assertIn("with the times of its points (got x, y, z)", refused.stderr)

    def test_a_map_of_deskewed_scans_has_its_walls_where_they_are(self):
        self.run_voxloc("simulate", "--size", "100", "--scans", str(SCANS), "--longitudinal", "10",
                        "--skew", "--point-times", "swept")
        clouds = [bags.read_pcd_timed_points(path)
                  for path in sorted((self.folder / "swept/scans").iterdir())]
        clouds[0].append((1.0, 1.0, 1.0, math.nan))
        # The sensor looks back: the poses of the base are its own, turned by 180 degrees.
        base_poses = [(x, y, z, -qy, qx, -qw, qz) for x, y, z, qx, qy, qz, qw
                      in bags.read_kitti_poses(self.folder / "swept/poses.txt")]
        bags.write_mcap(self.folder / "swept.mcap", bags.drive_recording(
            clouds, base_poses, START_NS, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)))

        def median_error_m(*words):
            done = self.run_voxloc("map", "load", "--server", self.server.address, "--map", "swept",
                                   "--json", "-", "--bag", "swept.mcap", *words)
            result = json.loads(done.stdout)
            self.assertEqual(result["points"], sum(map(len, clouds)) - (1 if words else 0))
            self.assertEqual(result["clouds"], SCANS)
            done = self.run_voxloc("replay", "--server", self.server.address, "--map", "swept",
                                   "--points", "1500", "--json", "-", "--scans", "town/scans",
                                   "--poses", "town/poses.txt")
            errors = sorted(row["translation_error_m"] for row in json.loads(done.stdout)["results"])
            return errors[len(errors) // 2]

        self.assertGreater(median_error_m(), 0.2)
        self.assertLess(median_error_m("--point-times", "auto"), 0.05)

    def tiles(self, name):
        done = self.run_voxloc("map", "tiles", "--server", self.server.address, "--map", name,
                               "--json", "-")
        return json.loads(done.stdout)["tiles"]

    def test_a_map_of_a_bag_is_the_map_of_the_merged_cloud(self):
        # Coordinates that are multiples of 2^-8 m below 2^12 m: no sum of them is rounded. The first
        # scan is at the height 0, which is that of the tiles' origins then.
        poses = [(16.0 * i, -8.0 * i, 0.5 * i, 0.0, 0.0, 0.0, 1.0) for i in range(SCANS)]
        clouds, merged = [], b""
        for pose, cloud in zip(poses, self.clouds):
            points = [[round(number * 256) / 256 for number in point]
                      for point in struct.iter_unpack("<3f", cloud)]
            clouds.append(b"".join(struct.pack("<3f", *point) for point in points))
            merged += b"".join(struct.pack("<3f", *(point[k] + pose[k] for k in range(3)))
                               for point in points)
        count = len(merged) // 12
        (self.folder / "merged.pcd").write_bytes(
            (f"VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {count}\nHEIGHT 1\n"
             f"VIEWPOINT 0 0 0 1 0 0 0\nPOINTS {count}\nDATA binary\n").encode() + merged)
        self.run_voxloc("map", "load", "--server", self.server.address, "--map", "merged",
                        "--tile-size", "30", "merged.pcd")
        expected = self.tiles("merged")
        self.assertGreater(len(expected), 10)
        for name, write in WRITERS.items():
            with self.subTest(bag=name):
                path = f"map_{name}"
                write(self.folder / path, bags.drive_recording(clouds, poses, START_NS))
                self.run_voxloc("map", "load", "--server", self.server.address, "--map", name.replace(".", "_"),
                                "--tile-size", "30", "--bag", path)
                self.assertEqual(self.tiles(name.replace(".", "_")), expected)

    def test_scan_distance_and_thinning_make_the_map_smaller(self):
        bags.write_mcap(self.folder / "thin.mcap",
                        bags.drive_recording(self.clouds, self.poses, START_NS))
        def points(*words):
            done = self.run_voxloc("map", "load", "--server", self.server.address, "--map", "thin",
                                   "--json", "-", "--bag", "thin.mcap", *words)
            result = json.loads(done.stdout)
            return result["points"], result["clouds"]
        whole, scans = points()
        self.assertEqual((whole, scans), (sum(len(cloud) for cloud in self.clouds) // 12, SCANS))
        fewer, scans = points("--scan-distance", "1000")
        self.assertEqual((fewer, scans), (len(self.clouds[0]) // 12, 1))
        self.assertLess(points("--leaf", "1")[0], whole)

    def test_several_files_are_one_recording(self):
        recording = bags.drive_recording(self.clouds, self.poses, START_NS)
        bags.write_mcap(self.folder / "whole.mcap", recording)
        bags.write_mcap(self.folder / "first.mcap", recording[:10])
        bags.write_mcap(self.folder / "second.mcap", recording[10:])
        whole, _ = self.replay("--bag", "whole.mcap")
        parts, _ = self.replay("--bag", "second.mcap", "--bag", "first.mcap")
        self.assert_same_rows(parts, whole)

    def test_info_lists_topics_and_frames(self):
        bags.write_ros1(self.folder / "info.bag",
                        bags.drive_recording(self.clouds, self.poses, START_NS, MOUNT))
        done = self.run_voxloc("bag", "info", "info.bag", "--json", "-")
        info = json.loads(done.stdout)
        self.assertEqual(info["format"], "ROS 1 bag")
        self.assertEqual({topic["name"]: (topic["type"], topic["messages"], topic["frame"])
                          for topic in info["topics"]},
                         {"/points": ("sensor_msgs/PointCloud2", SCANS, "lidar"),
                          "/odometry": ("nav_msgs/Odometry", SCANS, "map -> base_link"),
                          "/tf_static": ("tf2_msgs/TFMessage", 1, "")})
        self.assertEqual(info["frames"], [{"parent": "base_link", "child": "lidar", "moves": False}])
        self.assertIn("/odometry", self.run_voxloc("bag", "info", "info.bag").stdout)

    def test_flags_that_do_not_go_together_are_refused(self):
        for words in (("--bag", "x.mcap", "--scans", "town/scans"), ("--points-topic", "/x"), ()):
            self.run_voxloc("replay", "--map", "town", *words, expect=2)
        for words in (("--bag", "x.mcap", "town/map"), ("--scan-distance", "1", "town/map"), ()):
            self.run_voxloc("map", "load", "--map", "x", *words, expect=2)


if __name__ == "__main__":
    Bags.programs = sys.argv.pop(1)
    unittest.main()
