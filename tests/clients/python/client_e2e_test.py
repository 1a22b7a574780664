#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python client against voxlocd on a tiny town: client_e2e_test.py SOURCE_DIR PROGRAMS_DIR."""

import asyncio
import dataclasses
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support" / "python"))
import python_client  # noqa: E402
import voxlocd  # noqa: E402

if len(sys.argv) != 3:
    sys.exit("usage: client_e2e_test.py SOURCE_DIR PROGRAMS_DIR")
PROGRAMS = pathlib.Path(sys.argv.pop()).resolve()
SOURCE = pathlib.Path(sys.argv.pop()).resolve()
python_client.make_importable(SOURCE)

import grpc  # noqa: E402
import numpy as np  # noqa: E402
import voxloc  # noqa: E402
from google.protobuf import descriptor_pb2  # noqa: E402
from voxloc import messages  # noqa: E402

SCANS = 8
TIMEOUT_S = 100

# What replies carry and this client does not need: taken out, it is a client of before.
ADDED_LAST = {
    "AlignmentResult": ("recovery", "protection"), "Confidence": ("innovation", "cluster_turn_rad"),
    "Timings": ("received_at_ns",), "PointCounts": ("deskewed",), "Degeneracy": ("axes",),
    "CovarianceReport": ("method", "detail"), "SessionOpened": ("server_version",),
    "MapInfo": ("durable", "memory_bytes"), "UpdateCommitted": ("commit_s",),
}
# Aligns scans as a session of the client; prints the poses. Run with the package of before.
OLDER_CLIENT = """
import json, sys, voxloc
assert not hasattr(voxloc.messages.AlignmentResult(), "protection")
address, guesses, *files = sys.argv[1:]
poses = []
with voxloc.Client(address) as client:
    assert [info.name for info in client.list_maps()] == ["town"]
    with client.session("town") as session:
        for row, file in zip(json.loads(guesses), files):
            guess = voxloc.Pose(row["guess"][:3], row["guess"][3:])
            scan = voxloc.Scan(voxloc.io.read_pcd(file), row["stamp_ns"], guess)
            result = session.align(scan, 60)
            poses.append([*result.map_T_base.position, *result.map_T_base.orientation])
print(json.dumps(poses))
"""


def voxloc_program(*arguments):
    done = subprocess.run([PROGRAMS / "voxloc", *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"voxloc {arguments}: {done.stderr}")
    return done.stdout


def numbers(pose):
    return [*pose.position.tolist(), *pose.orientation.tolist()]


class Served(unittest.TestCase):
    """A server that `voxloc map load` has given the town, and a drive that `voxloc replay` sent."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="voxloc_python_")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.town = cls.folder / "town"
        voxloc_program("simulate", "--size", "100", "--scans", str(SCANS), "--map-spacing", "0.2",
                       "--rate", "1", cls.town)
        cls.server = voxlocd.Voxlocd([PROGRAMS / "voxlocd", "--engine=cpu",
                                      "--capture.max-bytes=16M"], cls.folder)
        cls.addClassCleanup(cls.server.stop)
        cls.server.wait_until_ready()
        voxloc_program("map", "load", "--map", "town", cls.town / "map", "--server",
                       cls.server.address)
        replay = voxloc_program(
            "replay", "--map", "town", "--scans", cls.town / "scans", "--poses",
            cls.town / "poses.txt", "--perturb", "0.3,0.3,0.1,0.5,0.5,1", "--json", "-",
            "--server", cls.server.address)
        cls.rows = json.loads(replay)["results"]
        cls.files = [cls.town / "scans" / row["file"] for row in cls.rows]
        cls.clouds = [voxloc.io.read_pcd(file) for file in cls.files]
        cls.client = voxloc.Client(cls.server.address)
        cls.addClassCleanup(cls.client.close)

    def scan(self, index):
        row = self.rows[index]
        return voxloc.Scan(self.clouds[index], stamp_ns=row["stamp_ns"],
                           guess_map_T_base=voxloc.Pose(row["guess"][:3], row["guess"][3:]))

    def near_truth(self, pose, index):
        truth = self.rows[index]["truth"]
        self.assertLess(pose.distance_to(voxloc.Pose(truth[:3], truth[3:])), 0.05)

    def assert_same_bits(self, results):
        """What `voxloc replay` received for the same scans."""
        self.assertEqual(len(results), SCANS)
        for row, result in zip(self.rows, results):
            scores = result.message.scores
            self.assertTrue(row["accepted"])
            self.assertEqual(
                [result.status.name, result.stamp_ns, *result.map_T_base.position,
                 *result.covariance.ravel(), scores.score, scores.nvtl, result.confidence,
                 result.message.iterations],
                [row["status"], row["stamp_ns"], *row["pose"][:3], *row["covariance"],
                 row["scores"]["score"], row["scores"]["nvtl"], row["confidence"],
                 row["iterations"]])
            self.assertEqual({name: sigma.tolist() for name, sigma in result.sigma_shares.items()},
                             row["sigma_shares"])
            # The C++ client normalises quaternions once more: the last bit may differ.
            np.testing.assert_allclose(result.map_T_base.orientation, row["pose"][3:], rtol=0.0,
                                       atol=np.finfo(float).eps)

    def test_the_same_drive_gives_the_bits_of_the_cpp_client(self):
        with self.client.session("town") as session:
            self.assertEqual(repr(session), f"<Session on map town at {self.server.address}>")
            self.assert_same_bits([session.align(self.scan(i), 60) for i in range(SCANS)])

    def test_the_same_drive_gives_the_same_bits_with_asyncio(self):
        async def drive():
            async with voxloc.aio.Client(self.server.address) as client:
                async with client.session("town") as session:
                    return [await session.align(self.scan(i), 60) for i in range(SCANS)]

        self.assert_same_bits(asyncio.run(drive()))

    def test_a_map_that_python_loads_has_the_tiles_and_the_answers_of_the_other(self):
        committed = self.client.load_map("python", voxloc.io.read_map(self.town / "map"),
                                         comment="by a test")
        try:
            loaded = {tile.crc32c: (tile.points, tile.tile_id)
                      for tile in self.client.list_tiles("python")}
            self.assertEqual(loaded, {tile.crc32c: (tile.points, tile.tile_id)
                                      for tile in self.client.list_tiles("town")})
            self.assertEqual(committed.tiles_added, len(loaded))
            self.assertEqual([info.name for info in self.client.list_maps()], ["python", "town"])
            with self.client.session("python") as session:
                self.assert_same_bits([session.align(self.scan(i), 60) for i in range(SCANS)])
        finally:
            self.assertEqual(self.client.drop_map("python"), committed.map.revision)
        self.assertEqual([info.name for info in self.client.list_maps()], ["town"])

    def test_changes_of_a_map(self):
        points = np.random.default_rng(1).uniform(0.0, 40.0, (200000, 3))  # three chunks
        first = self.client.load_map("m", {"a": points, "b": points[:10] + 100.0})
        try:
            self.assertEqual((first.tiles_added, first.map.points), (2, 200010))
            second = self.client.load_map("m", [("c", points[:100])], clear=False, remove=["b"])
            self.assertEqual((second.tiles_removed, second.map.points), (1, 200100))
            self.assertEqual([tile.tile_id for tile in self.client.list_tiles("m")], ["a", "c"])
            with self.assertRaises(voxloc.Error) as raised:
                self.client.load_map("m", {"d": points[:10]}, base_revision=first.map.revision)
            self.assertEqual((raised.exception.code, raised.exception.reason),
                             (grpc.StatusCode.ABORTED, "REVISION_CONFLICT"))

            def broken():
                yield "e", points[:10]
                raise KeyError("no more tiles")

            with self.assertRaisesRegex(KeyError, "no more tiles"):
                self.client.load_map("m", broken())
            self.assertEqual(self.client.get_map("m").revision, second.map.revision)
        finally:
            self.client.drop_map("m")

    def test_a_map_with_a_frame_is_searched_by_latitude_and_longitude(self):
        # Where the equator meets the prime meridian, x and y are arcs with the ellipsoid's radii.
        degrees_east = math.degrees(1.0 / 6378137.0)
        degrees_north = degrees_east / (1.0 - 1.0 / 298.257223563) ** 2
        frame = messages.MapFrame(origin=messages.Wgs84Origin(point=messages.GeoPoint()))
        self.client.load_map("earth", voxloc.io.read_map(self.town / "map"), frame=frame)
        try:
            self.assertEqual(self.client.get_map("earth").frame, frame)
            truth = self.scan(0).guess_map_T_base
            region = messages.SearchRegion(wgs84_circle=messages.Wgs84Circle(
                latitude_deg=(truth.position[1] + 4.0) * degrees_north,
                longitude_deg=(truth.position[0] - 4.0) * degrees_east, radius_m=10.0))
            found = self.client.search("earth", voxloc.Scan(self.clouds[0][::10]), region=region)
            self.near_truth(found.hypotheses[0].map_T_base, 0)
            frame.origin.x_axis_yaw_rad = 1.0
            with self.assertRaises(voxloc.Error) as other:
                self.client.load_map("earth", {}, clear=False, frame=frame)
            self.assertEqual(other.exception.reason, "MAP_HAS_OTHER_FRAME")
        finally:
            self.client.drop_map("earth")

    def test_revisions_are_staged_tried_and_undone(self):
        points = np.random.default_rng(2).uniform(0.0, 40.0, (5000, 3)) + (4e5, 4e6, 0.0)
        client = self.client
        first = client.load_map("r", {"a": points, "b": points + 50.0}, request_id="change 1")
        try:
            again = client.load_map("r", {}, request_id="change 1")
            self.assertTrue(again.repeated)
            self.assertEqual(again.map.revision, first.map.revision)
            staged = client.load_map("r", {"a": points[:100]}, clear=False, comment="smaller",
                                     canary_vehicles=["bus-7"])
            revision = staged.map.revision
            self.assertEqual(client.get_map("r").revision, first.map.revision)
            self.assertEqual(client.set_canary("r", revision, ["bus-9"]).canary_vehicles,
                             ["bus-9"])
            with client.watch("r") as watch:
                self.assertEqual(next(watch).map.revision, first.map.revision)
                self.assertEqual(client.activate_revision("r", revision).revision, revision)
                event = next(watch)
            self.assertEqual((event.kind, event.map.revision, event.changed_tiles),
                             (messages.MAP_EVENT_KIND_UPDATED, revision, ["a"]))
            self.assertEqual([tile.points for tile in client.list_tiles("r")], [100, 5000])
            old = client.list_tiles("r", revision=first.map.revision)
            self.assertEqual([tile.points for tile in old], [5000, 5000])
            # Back to the first, from its tiles and by its number.
            undone = client.load_map("r", {}, clear=False, from_revision=first.map.revision)
            other = client.load_map("r", {}, clear=False, stage=True)
            self.assertEqual(client.withdraw_revision("r", other.map.revision).state,
                             messages.REVISION_STATE_WITHDRAWN)
            history = client.list_revisions("r")
            self.assertEqual([(r.revision, r.comment) for r in history[:3]],
                             [(first.map.revision, ""), (revision, "smaller"),
                              (undone.map.revision, "")])
            self.assertEqual([tile.sha256 for tile in client.list_tiles("r")],
                             [tile.sha256 for tile in old])
        finally:
            client.drop_map("r")

    def test_tiles_come_back_to_the_bit(self):
        committed = self.client.load_map("copy", ((tile.info.tile_id, tile) for tile
                                                  in self.client.get_tiles("town")))
        try:
            self.assertGreater(committed.tiles_added, 0)
            self.assertEqual([tile.sha256 for tile in self.client.list_tiles("copy")],
                             [tile.sha256 for tile in self.client.list_tiles("town")])
            some = [tile.tile_id for tile in self.client.list_tiles("copy")][:2]

            async def both():
                async with voxloc.aio.Client(self.server.address) as client:
                    return [tile async for tile in client.get_tiles("copy", some)]

            for here, there in zip(self.client.get_tiles("town", some), asyncio.run(both())):
                self.assertEqual(here.info.tile_id, there.info.tile_id)
                self.assertEqual(here.points.tobytes(), there.points.tobytes())
        finally:
            self.client.drop_map("copy")

    def test_one_scan_without_a_session(self):
        result = self.client.align(voxloc.Setup("town", profile="autoware"), self.scan(0))
        self.assertEqual((result.status, result.sequence), (voxloc.Status.OK, 0))
        self.near_truth(result.map_T_base, 0)

    def test_a_scan_that_went_badly_is_captured(self):
        refusing = messages.AlignmentOptions()
        refusing.gate.score_threshold.value = 1e6
        result = self.client.align(voxloc.Setup("town", options=refusing, vehicle="lost"),
                                   self.scan(3))
        self.assertEqual(result.status, voxloc.Status.LOW_SCORE)
        end = time.monotonic() + 30
        captures = []
        while not captures and time.monotonic() < end:
            captures = [info for info in self.client.list_captures("town")
                        if info.vehicle == "lost"]
        capture = self.client.get_capture(captures[0].id)
        self.assertEqual(capture.result.status, result.status)
        self.assertEqual(capture.request.setup.map, "town")
        self.assertEqual(capture.info.id, captures[0].id)

        async def both():
            async with voxloc.aio.Client(self.server.address) as client:
                listed = await client.list_captures()
                return listed, await client.get_capture(captures[0].id)

        listed, there = asyncio.run(both())
        self.assertIn(captures[0].id, [info.id for info in listed])
        self.assertEqual(there.SerializeToString(deterministic=True),
                         capture.SerializeToString(deterministic=True))
        with self.assertRaises(voxloc.Error) as raised:
            self.client.get_capture("c1-1")
        self.assertEqual(raised.exception.reason, "CAPTURE_NOT_FOUND")

    def test_a_burst_has_one_result_a_scan(self):
        with self.client.session(voxloc.Setup("town", vehicle="burst")) as session:
            self.assertEqual([(info.vehicle, info.map) for info in self.client.list_sessions()
                              if info.session == session.opened.session], [("burst", "town")])
            sent = [session.send(self.scan(i)) for i in range(SCANS)]
            last = session.receive_of(sent[-1], 60)
            self.assertEqual(last.status, voxloc.Status.OK)
            received = [last, *(session.receive(60) for _ in sent[1:])]
        self.assertEqual(sorted(result.sequence for result in received), sent)
        self.assertLessEqual({result.status for result in received},
                             {voxloc.Status.OK, voxloc.Status.SUPERSEDED})
        self.assertEqual(session.unanswered, [])
        with self.assertRaises(voxloc.SessionClosed):
            session.receive()

    def test_odometry_carries_the_answers_on(self):
        odom_T_map = voxloc.Pose.from_rpy((5.0, -3.0, 1.0), 0.0, 0.0, 0.4)
        truth = [voxloc.Pose(row["truth"][:3], row["truth"][3:]) for row in self.rows]
        with self.client.session("town") as session:
            for i in range(3):
                result = session.align(voxloc.Scan(
                    self.clouds[i], stamp_ns=self.rows[i]["stamp_ns"],
                    odom_T_base=odom_T_map @ truth[i],
                    guess_map_T_base=truth[0] if i == 0 else None), 60)
                self.assertTrue(result.accepted, result.detail)
                self.near_truth(result.map_T_odom @ odom_T_map @ truth[i], i)
                self.assertLess(result.map_T_odom.distance_to(odom_T_map.inverse()), 0.1)

    def test_a_session_joins_scans_by_the_odometry(self):
        truth = [voxloc.Pose(row["truth"][:3], row["truth"][3:]) for row in self.rows]
        accumulation = messages.ScanAccumulation(scans=2, max_distance_m=100)
        with self.client.session("town", accumulation=accumulation) as session:
            for i in range(3):
                result = session.align(
                    dataclasses.replace(self.scan(i), odom_T_base=truth[i]), 60)
                self.assertTrue(result.accepted, result.detail)
                self.near_truth(result.map_T_base, i)
                self.assertEqual(result.message.points.joined_scans, min(i + 1, 2))

    def test_activation_poses_and_what_is_rejected(self):
        with self.client.session("town", start_inactive=True) as session:
            result = session.align(self.scan(0), 60)
            self.assertEqual(result.status, voxloc.Status.NOT_ACTIVE)
            self.assertIsNone(result.map_T_base)
            session.activate()
            for offset_ns in (-10**8, 0):
                session.send_pose(self.rows[0]["stamp_ns"] + offset_ns,
                                  self.scan(0).guess_map_T_base)
            session.send_reference(self.rows[0]["stamp_ns"], (0.0, 0.0, 0.0))
            session.send_pose(7, self.scan(0).guess_map_T_base, -np.eye(6))
            result = session.align(voxloc.Scan(self.clouds[0], self.rows[0]["stamp_ns"]), 60)
            self.assertEqual(result.status, voxloc.Status.OK, result.detail)
            rejected = session.take_rejection()
            self.assertEqual((rejected.kind, rejected.stamp_ns),
                             (messages.SESSION_REQUEST_KIND_POSE, 7))
            self.assertIsNone(session.take_rejection())

    def test_a_search_with_progress(self):
        progress = []
        scan = voxloc.Scan(self.clouds[0][::10])
        prior = self.scan(0).guess_map_T_base
        covariance = np.diag([4.0, 4.0, 0.04, 0.001, 0.001, 1.0])
        found = self.client.search("town", scan, prior=prior, prior_covariance=covariance,
                                   options=messages.SearchOptions(particles=100),
                                   on_progress=progress.append)
        self.near_truth(found.hypotheses[0].map_T_base, 0)
        self.assertGreater(found.hypotheses[0].confidence, 0.5)
        # Only answers to scans say what their covariance is the sum of.
        self.assertFalse(hasattr(found.hypotheses[0], "sigma_shares"))
        fractions = [message.fraction for message in progress]
        self.assertTrue(fractions)
        self.assertEqual(fractions, sorted(fractions))

        async def search():
            async with voxloc.aio.Client(self.server.address) as client:
                return await client.search("town", scan, prior=prior, prior_covariance=covariance,
                                           options=messages.SearchOptions(particles=100))

        again = asyncio.run(search())
        self.assertEqual(numbers(again.hypotheses[0].map_T_base),
                         numbers(found.hypotheses[0].map_T_base))
        region = messages.SearchRegion()
        region.box.min.x, region.box.max.x = 1e5, 1e5 + 1.0
        with self.assertRaisesRegex(voxloc.Error, "INVALID_ARGUMENT"):
            self.client.search("town", scan, region=region)

        circle = messages.SearchRegion(
            wgs84_circle=messages.Wgs84Circle(latitude_deg=48.0, longitude_deg=11.0, radius_m=10.0))
        with self.assertRaises(voxloc.Error) as unknown:
            self.client.search("town", scan, region=circle)
        self.assertEqual(unknown.exception.reason, "MAP_FRAME_UNKNOWN")

        def enough(_):
            raise InterruptedError("enough")

        with self.assertRaises(InterruptedError):
            self.client.search("town", scan, prior=prior, prior_covariance=covariance,
                               on_progress=enough)

    def test_scores_are_those_of_the_alignment(self):
        scan = voxloc.Scan(self.clouds[0][::20],
                           guess_map_T_base=self.scan(0).guess_map_T_base)
        result = self.client.align("town", scan)
        truth = scan.guess_map_T_base
        poses = [result.map_T_base, *(voxloc.Pose(truth.position + (0.0, 0.0, 0.001 * i),
                                                  truth.orientation) for i in range(1500))]
        scores = self.client.score("town", scan, poses)
        self.assertEqual({len(getattr(scores, name)) for name in
                          ("score", "nvtl", "transform_probability", "matched_points",
                           "matched_ratio")}, {len(poses)})
        self.assertAlmostEqual(scores.nvtl[0], result.nvtl, 6)  # float32 sums, in another order
        self.assertEqual(int(np.argmax(scores.nvtl)), 0)
        again = self.client.score("town", scan, np.array([numbers(pose) for pose in poses[:3]]))
        np.testing.assert_array_equal(again.score, scores.score[:3])
        with self.assertRaisesRegex(voxloc.Error, "INVALID_ARGUMENT"):
            self.client.score("town", scan, np.zeros((1, 7)))

    def test_errors_tell_programs_why(self):
        calls = (lambda: self.client.session("nowhere"), lambda: self.client.get_map("nowhere"),
                 lambda: self.client.align("nowhere", self.scan(0)))
        for call in calls:
            with self.assertRaises(voxloc.Error) as raised:
                call()
            error = raised.exception
            self.assertEqual((error.code, error.reason, error.metadata),
                             (grpc.StatusCode.NOT_FOUND, "MAP_NOT_FOUND", {"map": "nowhere"}))
            self.assertIn("there are: town", str(error))
            self.assertIsNone(error.retry_after_s)

        async def wrong():
            async with voxloc.aio.Client(self.server.address) as client:
                with self.assertRaises(voxloc.Error) as raised:
                    await client.get_map("nowhere")
                self.assertEqual(raised.exception.reason, "MAP_NOT_FOUND")
                with self.assertRaises(voxloc.Error) as raised:
                    await client.session("nowhere")
                self.assertEqual(raised.exception.metadata, {"map": "nowhere"})

        asyncio.run(wrong())
        bad = voxloc.Scan(np.full((10, 3), np.nan), guess_map_T_base=voxloc.Pose())
        with self.client.session("town") as session:
            result = session.align(bad, 60)
            self.assertEqual(result.status, voxloc.Status.INVALID_INPUT)
            self.assertTrue(result.detail)

    def test_says_when_to_come_back(self):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            server = voxlocd.Voxlocd([PROGRAMS / "voxlocd", "--engine=cpu",
                                      "--limits.max-sessions=1"], folder)
            try:
                server.wait_until_ready()
                with voxloc.Client(server.address) as client:
                    client.load_map("m", {"a": self.clouds[0]})
                    with client.session("m"), self.assertRaises(voxloc.Error) as raised:
                        client.session("m")
                error = raised.exception
                self.assertEqual((error.code, error.reason, error.metadata["limit"]),
                                 (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_SESSIONS", "1"))
                self.assertGreater(error.retry_after_s, 0.0)
            finally:
                server.stop()

    def test_a_server_that_goes_away(self):
        quick = voxloc.ReconnectOptions(max_attempts=3, initial_wait_s=0.05, max_wait_s=0.1)

        async def go_on(address, stop):
            async with voxloc.aio.Client(address) as client:
                session = await client.session("m", reconnect=quick)
                self.assertTrue(await session.align(scan, 60))
                await asyncio.get_running_loop().run_in_executor(None, stop)
                with self.assertRaisesRegex(voxloc.Error, "gave up after 3 attempts"):
                    await session.receive(60)

        scan = voxloc.Scan(self.clouds[0], guess_map_T_base=voxloc.Pose())
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            server = voxlocd.Voxlocd([PROGRAMS / "voxlocd", "--engine=cpu"], folder)
            address = server.address
            with voxloc.Client(address) as client:
                try:
                    client.load_map("m", {"a": self.clouds[0]})
                    session = client.session("m", reconnect=quick)
                    self.assertTrue(session.align(scan, 60))
                finally:
                    asyncio.run(go_on(address, server.stop))
                with self.assertRaisesRegex(voxloc.Error, "gave up after 3 attempts") as raised:
                    session.receive(60)
                self.assertEqual(raised.exception.code, grpc.StatusCode.UNAVAILABLE)
                self.assertIsNotNone(session.draining)

    def test_an_older_client_gets_the_same_bits(self):
        older = self.folder / "older"
        shutil.copytree(SOURCE / "clients/python/voxloc", older / "voxloc",
                        ignore=shutil.ignore_patterns("__pycache__"))
        path = older / "voxloc" / "voxloc.v1.binpb"
        contract = descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes())
        removed = []
        for message in (message for file in contract.file for message in file.message_type):
            for name in ADDED_LAST.get(message.name, ()):
                [index] = [i for i, field in enumerate(message.field) if field.name == name]
                removed.append((message.name, message.field.pop(index).name))
        self.assertEqual(len(removed), sum(map(len, ADDED_LAST.values())))
        path.write_bytes(contract.SerializeToString())
        rows = [{"guess": row["guess"], "stamp_ns": row["stamp_ns"]} for row in self.rows]
        done = subprocess.run(
            [sys.executable, "-B", "-c", OLDER_CLIENT, self.server.address, json.dumps(rows),
             *self.files], env={**os.environ, "PYTHONPATH": str(older)}, cwd=older, check=False,
            capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        with self.client.session("town") as session:
            self.assertEqual(json.loads(done.stdout),
                             [numbers(session.align(self.scan(i), 60).map_T_base)
                              for i in range(SCANS)])

    def test_this_server_takes_what_a_newer_client_sends(self):
        plain = self.client.align("town", self.scan(0))
        scan = self.scan(0).to_message()
        setup = voxloc.Setup("town").to_message()
        # Field 1000, a string: no reader of this contract knows it.
        unknown = b"\xc2\x3e\x03new"
        scan.MergeFromString(unknown)
        setup.MergeFromString(unknown)
        request = messages.AlignScanRequest(setup=setup, scan=scan)
        self.assertGreaterEqual(request.SerializeToString().count(unknown), 2)
        with grpc.insecure_channel(self.server.address) as channel:
            align_scan = channel.unary_unary(
                "/voxloc.v1.LocalizationService/AlignScan",
                request_serializer=messages.AlignScanRequest.SerializeToString,
                response_deserializer=messages.AlignScanResponse.FromString)
            response = align_scan(request, timeout=60)
        self.assertEqual(numbers(voxloc.Result(response.result).map_T_base),
                         numbers(plain.map_T_base))

    def test_the_example_tracks_its_drive(self):
        done = subprocess.run(
            [sys.executable, "-B", SOURCE / "clients/python/examples/track_a_drive.py", self.town,
             "--server", self.server.address], check=False, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(SOURCE / "clients/python")}, timeout=TIMEOUT_S)
        self.client.drop_map("python-example")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count(" cm off"), SCANS, done.stdout)
        self.assertEqual(done.stdout.count(" OK "), SCANS, done.stdout)

    def test_the_server_says_what_it_is(self):
        info = self.client.server_info()
        self.assertEqual(info.engine, "cpu")
        self.assertIn("precise", [profile.name for profile in info.profiles])


if __name__ == "__main__":
    unittest.main(verbosity=2)
