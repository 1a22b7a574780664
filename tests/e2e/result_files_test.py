#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of results, read by independent readers: result_files_test.py PROGRAMS_DIR."""

import csv
import json
import math
import os
import pathlib
import signal
import struct
import subprocess
import sys
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support" / "python"))
import bags  # noqa: E402
import mcap_reader  # noqa: E402
import town_drive  # noqa: E402

SCANS = town_drive.TownDrive.SCANS
FUSED = ("--odometry", "town/poses_tum.txt", "--fusion")


def rotated(q, p):
    """The point, turned by the quaternion x, y, z, w."""
    x, y, z, w = q
    tx, ty, tz = 2 * (y * p[2] - z * p[1]), 2 * (z * p[0] - x * p[2]), 2 * (x * p[1] - y * p[0])
    return (p[0] + w * tx + y * tz - z * ty, p[1] + w * ty + z * tx - x * tz,
            p[2] + w * tz + x * ty - y * tx)


def numbers(pose, position="position", orientation="orientation"):
    return [*(pose[position][key] for key in "xyz"), *(pose[orientation][key] for key in "xyzw")]


class ResultFiles(town_drive.TownDrive):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_voxloc(*cls.command("--leaf", "1", *FUSED, "--json", "drive.json", "--output", "drive.csv",
                                    "--output", "drive.tum", "--output", "drive.mcap"))
        cls.rows = json.loads((cls.folder / "drive.json").read_text())["results"]
        cls.topics = cls.messages("drive.mcap")

    @classmethod
    def command(cls, *words):
        return ("replay", "--server", cls.server.address, "--map", "town", "--scans", "town/scans",
                "--poses", "town/poses_tum.txt", "--pose-format", "tum", *words)

    @classmethod
    def messages(cls, name):
        """Of each topic, its messages; all have the stamps of their headers."""
        topics = {}
        for topic, _, time_ns, message in mcap_reader.read(cls.folder / name):
            header = message.get("header", message)
            if topic == "/tf":
                header = message["transforms"][0]["header"]
            elif topic in ("/voxloc/map_cells", "/voxloc/marker"):
                header = message["markers"][0]["header"]
            stamp = header["stamp"]
            assert stamp["sec"] * 10**9 + stamp["nanosec"] == time_ns, topic
            topics.setdefault(topic, []).append(message)
        return topics

    def test_poses_of_the_mcap_are_those_of_the_json(self):
        self.assertTrue(all(row["accepted"] for row in self.rows))
        for topic, values in (("pose_with_covariance", self.rows),
                              ("fused_pose_with_covariance", [row["fused"] for row in self.rows])):
            messages = self.topics["/voxloc/" + topic]
            self.assertEqual(len(messages), SCANS)
            for message, value in zip(messages, values):
                self.assertEqual(message["header"]["frame_id"], "map")
                self.assertEqual(numbers(message["pose"]["pose"]), value["pose"])
                self.assertEqual(list(message["pose"]["covariance"]), value["covariance"])
        for message, row in zip(self.topics["/voxloc/truth"], self.rows):
            self.assertEqual(numbers(message["pose"]["pose"]), row["truth"])
        for message, row in zip(self.topics["/tf"], self.rows):
            transform, = message["transforms"]
            self.assertEqual((transform["header"]["frame_id"], transform["child_frame_id"]),
                             ("map", "base_link"))
            self.assertEqual(numbers(transform["transform"], "translation", "rotation"), row["pose"])

    def test_scores_and_verdicts_are_those_of_the_json(self):
        for topic, value in (("nearest_voxel_transformation_likelihood", lambda row: row["scores"]["nvtl"]),
                             ("transform_probability", lambda row: row["scores"]["transform_probability"]),
                             ("exe_time_ms", lambda row: row["latency_ms"]),
                             ("iteration_num", lambda row: row["iterations"])):
            for message, row in zip(self.topics["/voxloc/" + topic], self.rows):
                self.assertAlmostEqual(message["data"], value(row), delta=1e-5 * abs(value(row)))
        statuses = [message["status"][0] for message in self.topics["/diagnostics"]]
        names = ("voxloc: scan_matching_status", "voxloc: verdict", "voxloc: fusion_status")
        self.assertEqual([status["name"] for status in statuses], list(names) * SCANS)
        for status, row in zip(statuses[1::3], self.rows):
            values = {pair["key"]: pair["value"] for pair in status["values"]}
            self.assertEqual((status["level"], values["status"], values["accepted"]), (0, "OK", "True"))
            self.assertAlmostEqual(float(values["nvtl"]), row["scores"]["nvtl"], places=5)

    def test_aligned_clouds_are_the_scans_at_their_poses(self):
        self.run_voxloc(*self.command("--max-scans", "1", "--json", "whole.json", "--output", "whole.mcap"))
        row, = json.loads((self.folder / "whole.json").read_text())["results"]
        cloud, = self.messages("whole.mcap")["/voxloc/points_aligned"]
        scan = list(struct.iter_unpack("<3f", bags.read_pcd_points(self.folder / "town/scans/000000.pcd")))
        self.assertEqual([field["name"] for field in cloud["fields"]], ["x", "y", "z"])
        self.assertEqual((cloud["width"], cloud["point_step"]), (len(scan), 12))
        aligned = list(struct.iter_unpack("<3f", bytes(cloud["data"])))
        for point, at in zip(scan[::97], aligned[::97]):
            expected = rotated(row["pose"][3:], point)
            for k in range(3):
                self.assertAlmostEqual(at[k], expected[k] + row["pose"][k], delta=1e-4)

    def test_points_of_the_ply_are_the_clouds_of_the_mcap(self):
        gate = sorted(row["scores"]["nvtl"] for row in self.rows)[2]
        self.run_voxloc(*self.command("--leaf", "1", "--gate", f"score_threshold={gate}", "--json",
                                      "ply.json", "--output", "points.ply", "--output", "points.mcap"))
        rows = json.loads((self.folder / "ply.json").read_text())["results"]
        accepted = [row["index"] for row in rows if row["accepted"]]
        self.assertLess(len(accepted), SCANS)
        content = (self.folder / "points.ply").read_bytes()
        head, points = content.split(b"end_header\n", 1)
        clouds = self.messages("points.mcap")["/voxloc/points_aligned"]
        expected = [(*point, index) for index, cloud in enumerate(clouds) if index in accepted
                    for point in struct.iter_unpack("<3f", bytes(cloud["data"]))]
        self.assertIn(f"element vertex {len(expected)}\n".encode(), head)
        for row, other in zip(struct.iter_unpack("<3dI", points), expected):
            self.assertEqual(row[3], other[3])
            for k in range(3):
                self.assertAlmostEqual(row[k], other[k], delta=1e-5)

    def test_steps_of_a_traced_drive_are_arrows(self):
        self.run_voxloc(*self.command("--leaf", "1", "--trace", "--json", "trace.json", "--output",
                                      "trace.mcap"))
        rows = json.loads((self.folder / "trace.json").read_text())["results"]
        arrays = self.messages("trace.mcap")["/voxloc/marker"]
        self.assertEqual(len(arrays), SCANS)
        for row, array in zip(rows, arrays):
            arrows = array["markers"]
            self.assertEqual({(arrow["type"], arrow["header"]["frame_id"]) for arrow in arrows},
                             {(0, "map")})
            steps = [numbers(arrow["pose"]) for arrow in arrows[:len(row["trace"]) + 1]]
            self.assertEqual(steps[0], row["guess"])
            self.assertEqual(len(row["trace"]), row["iterations"])

    def cells(self, name, *words, profile="autoware"):
        self.run_voxloc("map", "cells", "--server", self.server.address, "--profile", profile,
                        "--output", name + ".csv", *words)
        with open(self.folder / (name + ".csv"), newline="", encoding="utf-8") as file:
            return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]

    def test_exported_cells_are_those_of_the_points(self):
        self.run_voxloc("map", "load", "--server", self.server.address, "--map", "scan",
                        "town/scans/000000.pcd")
        rows = self.cells("scan", "--map", "scan")
        size = rows[0]["cell_size_m"]
        points = {}
        for point in struct.iter_unpack("<3f", bags.read_pcd_points(self.folder / "town/scans/000000.pcd")):
            points.setdefault(tuple(math.floor(x / size) for x in point), []).append(point)
        # The map leaves cells with few points out.
        fewest = min(row["points"] for row in rows)
        self.assertEqual(sorted((row["ix"], row["iy"], row["iz"]) for row in rows),
                         sorted(index for index, of in points.items() if len(of) >= fewest))
        for row in rows:
            of = points[row["ix"], row["iy"], row["iz"]]
            self.assertEqual(row["points"], len(of))
            for k, axis in enumerate("xyz"):
                self.assertAlmostEqual(row[axis], sum(point[k] for point in of) / len(of), delta=1e-4)

    def test_cells_of_the_ply_are_those_of_the_csv(self):
        rows = self.cells("town", "--map", "town", profile="precise")
        self.run_voxloc("map", "cells", "--server", self.server.address, "--map", "town", "--profile",
                        "precise", "--output", "town.ply")
        head, _, body = (self.folder / "town.ply").read_bytes().partition(b"end_header\n")
        lines = head.decode().splitlines()
        names = [line.split()[2] for line in lines if line.startswith("property ")]
        self.assertIn(f"element vertex {len(rows)}", lines)
        codes = {"double": "d", "float": "f", "uint": "I", "uchar": "B"}
        code = "<" + "".join(codes[line.split()[1]] for line in lines if line.startswith("property "))
        vertices = [dict(zip(names, values)) for values in struct.iter_unpack(code, body)]
        self.assertEqual(len({row["stage"] for row in rows}), 4)
        for row, vertex in zip(rows, vertices):
            self.assertEqual({name: row[name] for name in names}, vertex)

    def test_squares_of_the_mcap_have_the_moments_of_the_cells(self):
        profile = self.run_voxloc("info", "--server", self.server.address, "--profile", "precise", "--json", "-")
        stage = json.loads(profile.stdout)["score_stage"]
        rows = self.cells("score", "--map", "town", "--stage", str(stage), profile="precise")
        corners = self.topics["/voxloc/map_cells"][0]["markers"][0]["points"]
        by_mean = {tuple(round(row[axis], 6) for axis in "xyz"): row for row in rows}
        squares = [corners[i:i + 6] for i in range(0, len(corners), 6)]
        self.assertGreater(len(squares), 1000)
        for square in squares[::7]:
            a, b, c = ([corner[axis] for axis in "xyz"] for corner in square[:3])
            row = by_mean[tuple(round((x + z) / 2, 6) for x, z in zip(a, c))]
            # Points that are spread evenly over an edge of the length L have the variance L^2 / 12.
            matrix = ((row["xx"], row["xy"], row["xz"]), (row["xy"], row["yy"], row["yz"]),
                      (row["xz"], row["yz"], row["zz"]))
            for p, q in ((a, b), (b, c)):
                edge = [y - x for x, y in zip(p, q)]
                variance = sum(x * x for x in edge) / 12
                for line, x in zip(matrix, edge):
                    self.assertAlmostEqual(sum(m * y for m, y in zip(line, edge)), variance * x, delta=1e-5)

    def test_cells_of_no_stage_and_of_no_place_are_refused(self):
        common = ("map", "cells", "--server", self.server.address, "--map", "town", "--output", "none.csv")
        refused = self.run_voxloc(*common, "--profile", "precise", "--stage", "4", expect=1)
        self.assertIn("--stage must be from 0 to 3 with the profile precise (got 4)", refused.stderr)
        refused = self.run_voxloc(*common, "--region", "900,900,0,901,901,1", expect=1)
        self.assertIn("the map town has no cells in the box 900,900,0,901,901,1", refused.stderr)
        self.assertFalse((self.folder / "none.csv").exists())

    def test_csv_and_tum_are_those_of_the_json(self):
        with open(self.folder / "drive.csv", newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        self.assertEqual(len(lines), SCANS)
        for line, row in zip(lines, self.rows):
            self.assertEqual([float(line[key]) for key in ("x_m", "y_m", "z_m", "qx", "qy", "qz", "qw")],
                             row["pose"])
            self.assertEqual(float(line["fused_x_m"]), row["fused"]["pose"][0])
            self.assertAlmostEqual(float(line["sigma_y_m"])**2, row["covariance"][7], places=12)
            self.assertEqual((line["status"], float(line["nvtl"])), ("OK", row["scores"]["nvtl"]))
        for text, row in zip((self.folder / "drive.tum").read_text().splitlines(), self.rows):
            stamp, *pose = text.split()
            self.assertEqual(stamp.replace(".", "").lstrip("0") or "0", str(row["stamp_ns"]))
            self.assertEqual([float(number) for number in pose], row["pose"])

    def test_one_scan_of_align_and_of_locate(self):
        scan = "town/scans/000000.pcd"
        common = ("--server", self.server.address, "--map", "town", "--points", "1500")
        guess = ",".join(str(number) for number in self.rows[0]["truth"][:3]) + ",0,0,0"
        self.run_voxloc("locate", *common, "--output", "located.mcap", scan)
        at = self.messages("located.mcap")["/voxloc/pose_with_covariance"][0]["pose"]["pose"]["position"]
        for key, value in zip("xyz", self.rows[0]["truth"]):
            self.assertAlmostEqual(at[key], value, delta=0.2)
        subprocess.run([os.path.join(self.programs, "voxloc"), "align", *common, "--guess", guess, "--output",
                        "aligned.mcap", scan], cwd=self.folder, capture_output=True, timeout=100, check=False)
        topics = self.messages("aligned.mcap")
        self.assertEqual(topics["/voxloc/points_aligned"][0]["width"], 1500)
        self.assertGreater(len(topics["/voxloc/map_cells"][0]["markers"][0]["points"]), 1000)

    def test_the_layout_of_foxglove_shows_topics_of_the_file(self):
        source = pathlib.Path(__file__).resolve().parents[2]
        layout = json.loads((source / "clients/ros/foxglove.json").read_text(encoding="utf-8"))
        panels = layout["configById"]

        def leaves(node):
            return [node] if isinstance(node, str) else leaves(node["first"]) + leaves(node["second"])

        self.assertEqual(sorted(leaves(layout["layout"])), sorted(panels))
        scene = panels["3D!scene"]
        self.assertEqual(scene["followTf"], self.topics["/tf"][0]["transforms"][0]["child_frame_id"])
        self.assertLessEqual(set(scene["topics"]), set(self.topics))
        status = panels["DiagnosticStatusPanel!verdict"]
        self.assertIn((status["selectedName"], status["selectedHardwareId"]),
                      [(message["status"][0]["name"], message["status"][0]["hardware_id"])
                       for message in self.topics[status["topicToRender"]]])
        for path in (path["value"] for panel in panels.values() for path in panel.get("paths", ())):
            topic, *fields = path.split(".")
            value = self.topics[topic][0]
            for field in fields:
                name, _, index = field.rstrip("]").partition("[")
                value = value[name][int(index)] if index else value[name]
            self.assertIsInstance(value, (int, float), path)

    def test_a_recording_is_drawn(self):
        script = pathlib.Path(__file__).resolve().parents[1] / "bench/draw_recording.py"
        subprocess.run([sys.executable, "-B", script, "drive.mcap", "drive.png", "--width", "200"],
                       cwd=self.folder, timeout=100, check=True)
        picture = (self.folder / "drive.png").read_bytes()
        width, height = struct.unpack_from(">II", picture, 16)
        at = picture.index(b"IDAT")
        size, = struct.unpack_from(">I", picture, at - 4)
        pixels = zlib.decompress(picture[at + 4:at + 4 + size])
        self.assertEqual((width, len(pixels)), (200, height * (1 + 3 * width)))
        self.assertIn(bytes((255, 40, 40)), pixels)  # the accepted poses

    def test_an_interrupted_replay_leaves_a_whole_file(self):
        process = subprocess.Popen(
            [os.path.join(self.programs, "voxloc"),
             *self.command("--rate", "1", "--points", "500", "--output", "cut.mcap")],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        # The first line of the progress: an answer has come, and eleven have not.
        self.assertTrue(any(line.startswith("scan ") for line in process.stderr))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130)
        poses = self.messages("cut.mcap")["/voxloc/pose_with_covariance"]
        self.assertTrue(0 < len(poses) < SCANS)

    def test_a_format_that_is_none_is_refused_before_the_work(self):
        refused = self.run_voxloc(*self.command("--output", "drive.bag"), expect=2)
        self.assertIn("drive.bag must end in .csv, .mcap, .ply or .tum (got '.bag')", refused.stderr)
        (self.folder / "truth.tum").write_bytes((self.folder / "town/poses_tum.txt").read_bytes())
        refused = self.run_voxloc(*self.command("--odometry", "truth.tum", "--output", "./truth.tum"), expect=2)
        self.assertIn("not in a folder that is read (got ./truth.tum)", refused.stderr)
        refused = self.run_voxloc(*self.command("--output", "missing/drive.mcap"), expect=2)
        self.assertIn("missing/drive.mcap cannot be written: No such file or directory", refused.stderr)

    def test_a_server_that_cannot_be_reached_leaves_an_older_file(self):
        (self.folder / "old.mcap").write_bytes(b"old")
        self.run_voxloc("replay", "--server", "unix:/no/such", "--map", "town", "--scans", "town/scans",
                        "--poses", "town/poses.txt", "--output", "old.mcap", expect=3)
        self.assertEqual((self.folder / "old.mcap").read_bytes(), b"old")


if __name__ == "__main__":
    ResultFiles.programs = sys.argv.pop(1)
    unittest.main()
