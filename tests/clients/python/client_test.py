#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python client without a voxlocd: client_test.py SOURCE_DIR.

Conversions, checksums, poses, the shipped contract, and sessions against a server of this test's
own that breaks off streams.
"""

import asyncio
import concurrent.futures
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support" / "python"))
import python_client  # noqa: E402

if len(sys.argv) != 2:
    sys.exit("usage: client_test.py SOURCE_DIR")
SOURCE = pathlib.Path(sys.argv.pop())
python_client.make_importable(SOURCE)

import grpc  # noqa: E402
import numpy as np  # noqa: E402
import voxloc  # noqa: E402
from google.protobuf import descriptor_pb2  # noqa: E402
from voxloc import _contract, _route, _session_state, crc32c, messages, scan, tile  # noqa: E402


QUICK = voxloc.ReconnectOptions(initial_wait_s=0.01, max_wait_s=0.02)


def random_pose(random):
    quaternion = random.normal(size=4)
    return voxloc.Pose(random.uniform(-50.0, 50.0, 3), quaternion / np.linalg.norm(quaternion))


class Contract(unittest.TestCase):
    def test_the_shipped_descriptors_are_those_of_the_protos(self):
        if shutil.which("protoc") is None:
            self.skipTest("protoc is not installed")
        with tempfile.TemporaryDirectory() as folder:
            fresh = pathlib.Path(folder, "fresh.binpb")
            subprocess.run([SOURCE / "clients/python/update-contract", fresh], check=True)
            expected = descriptor_pb2.FileDescriptorSet.FromString(fresh.read_bytes())
        by_name = {file.name: file for file in expected.file}
        self.assertEqual(by_name.keys(), {f.name for f in _contract.CONTRACT.files.file})
        for file in _contract.CONTRACT.files.file:
            # Those of Google's are whatever this protoc brings.
            if file.name.startswith("voxloc/"):
                self.assertEqual(file, by_name[file.name],
                                 "run clients/python/update-contract and commit its result")

    def test_every_status_has_its_name(self):
        prefix = "voxloc.v1.ALIGNMENT_STATUS_"
        values = {name[len(prefix):]: number
                  for name, number in _contract.CONTRACT.enum_values.items()
                  if name.startswith(prefix)}
        self.assertEqual({status.name: status.value for status in voxloc.Status}, values)

    def test_a_newer_status_is_not_ok(self):
        result = voxloc.Result(messages.AlignmentResult(status=99))
        self.assertEqual(result.status.name, "STATUS_99")
        self.assertNotEqual(result.status, voxloc.Status.OK)

    def test_has_every_message_and_names_what_it_lacks(self):
        self.assertIn("AlignmentResult", dir(messages))
        with self.assertRaisesRegex(AttributeError, "no message.* Nonsense"):
            messages.Nonsense  # pylint: disable=pointless-statement

    def test_a_reply_of_a_newer_server_parses(self):
        newer_set = descriptor_pb2.FileDescriptorSet()
        newer_set.CopyFrom(_contract.CONTRACT.files)
        for file in newer_set.file:
            for message in file.message_type:
                if message.name == "AlignScansResponse":
                    message.field.add(name="added_case", number=1001, type=9, label=1,
                                      oneof_index=0)
                if message.name in ("AlignmentResult", "AlignScansResponse", "Confidence"):
                    message.field.add(name="added", number=1000, type=9, label=1)
        newer = _contract.Contract(newer_set.SerializeToString())
        reply = newer.messages["voxloc.v1.AlignScansResponse"](added="what")
        reply.result.sequence = 7
        reply.result.added = "an answer"
        reply.result.confidence.value = 0.5
        reply.result.confidence.added = "a signal"
        parsed = messages.AlignScansResponse.FromString(reply.SerializeToString())
        self.assertEqual(parsed.result.sequence, 7)
        self.assertEqual(voxloc.Result(parsed.result).confidence, 0.5)
        # A case that this client does not know is passed over.
        other = newer.messages["voxloc.v1.AlignScansResponse"](added_case="new")
        parsed = messages.AlignScansResponse.FromString(other.SerializeToString())
        state = open_state()
        state.take(parsed)
        self.assertEqual(len(state.results), 0)


class Checksum(unittest.TestCase):
    # pylint: disable=protected-access
    def test_agrees_with_published_vectors(self):
        # RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
        for data, expected in ((b"", 0), (b"123456789", 0xe3069283), (bytes(32), 0x8a9136aa),
                               (b"\xff" * 32, 0x62a8ab43), (bytes(range(32)), 0x46dd794e)):
            self.assertEqual(crc32c.crc32c(data), expected)
            self.assertEqual(crc32c._numpy_crc32c(data), expected)

    def test_agrees_with_bit_by_bit_division(self):
        random = np.random.default_rng(1)
        for size in (1, 2, 3, 63, 64, 65, 1000, 4097):
            data = random.integers(0, 256, size, dtype=np.uint8).tobytes()
            register = 0xffffffff
            for byte in data:
                register ^= byte
                for _ in range(8):
                    register = register >> 1 ^ (0x82f63b78 if register & 1 else 0)
            self.assertEqual(crc32c._numpy_crc32c(data), register ^ 0xffffffff, size)


class Poses(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(2)

    def test_agree_with_matrices(self):
        for _ in range(50):
            a, b = random_pose(self.random), random_pose(self.random)
            points = self.random.normal(size=(5, 3))
            homogeneous = np.hstack([points, np.ones((5, 1))])
            np.testing.assert_allclose((a @ b).matrix(), a.matrix() @ b.matrix(), atol=1e-12)
            np.testing.assert_allclose(a.inverse().matrix(), np.linalg.inv(a.matrix()), atol=1e-12)
            np.testing.assert_allclose(a.apply(points), (a.matrix() @ homogeneous.T).T[:, :3],
                                       atol=1e-12)
            np.testing.assert_allclose(voxloc.Pose.from_matrix(a.matrix()).matrix(), a.matrix(),
                                       atol=1e-12)
            cosine = (np.trace(a.rotation_matrix().T @ b.rotation_matrix()) - 1.0) / 2.0
            self.assertAlmostEqual(a.angle_to(b), np.arccos(np.clip(cosine, -1.0, 1.0)), 6)

    def test_take_matrices_near_every_half_turn(self):
        for diagonal in ((1, -1, -1), (-1, 1, -1), (-1, -1, 1), (1, 1, 1)):
            matrix = np.eye(4)
            matrix[:3, :3] = np.diag(diagonal)
            np.testing.assert_allclose(voxloc.Pose.from_matrix(matrix).matrix(), matrix, atol=1e-15)

    def test_angles_are_those_of_ros(self):
        def turn(axis, angle):
            i, j = [(1, 2), (2, 0), (0, 1)][axis]
            matrix = np.eye(3)
            matrix[i, i] = matrix[j, j] = np.cos(angle)
            matrix[i, j], matrix[j, i] = -np.sin(angle), np.sin(angle)
            return matrix

        pose = voxloc.Pose.from_rpy((1.0, 2.0, 3.0), 0.1, -0.2, 2.5)
        np.testing.assert_allclose(pose.rotation_matrix(), turn(2, 2.5) @ turn(1, -0.2) @
                                   turn(0, 0.1), atol=1e-15)

    def test_go_to_messages_and_back_to_the_bit(self):
        pose = random_pose(self.random)
        back = voxloc.Pose.from_message(pose.to_message())
        self.assertEqual(back.position.tobytes(), pose.position.tobytes())
        self.assertEqual(back.orientation.tobytes(), pose.orientation.tobytes())

    def test_refuse_what_is_no_pose(self):
        for arguments in (((1.0, 2.0),), ((1.0, np.nan, 0.0),), ((0, 0, 0), (0, 0, 0, 0))):
            with self.assertRaises(ValueError):
                voxloc.Pose(*arguments)
        for matrix in (np.zeros((4, 4)), np.diag([1.0, 1.0, -1.0, 1.0]), np.eye(3)):
            with self.assertRaises(ValueError):
                voxloc.Pose.from_matrix(matrix)


class Clouds(unittest.TestCase):
    def encoded(self, points, times_s=None):
        message = messages.Cloud()
        scan.encode_cloud(points, message, times_s)
        return message

    def test_float32_goes_to_the_bit(self):
        points = np.random.default_rng(3).normal(size=(100, 4)).astype(np.float32)
        points[3] = np.nan
        message = self.encoded(points)
        self.assertEqual(message.layout, messages.CLOUD_LAYOUT_FLOAT32_XYZ)
        self.assertEqual((message.stride, message.HasField("origin")), (12, False))
        self.assertEqual(message.data, points[:, :3].tobytes())
        np.testing.assert_array_equal(voxloc.decode_cloud(message), points[:, :3])

    def test_float64_near_zero_has_no_origin(self):
        points = np.random.default_rng(4).uniform(-1000.0, 1000.0, (100, 3))
        message = self.encoded(points)
        self.assertFalse(message.HasField("origin"))
        self.assertEqual(message.data, points.astype(np.float32).tobytes())

    def test_float64_far_away_keeps_its_precision(self):
        points = np.random.default_rng(5).uniform(-200.0, 200.0, (100, 3)) + (4e5, 4e6, 50.0)
        points[7, 0] = np.nan
        message = self.encoded(points)
        self.assertEqual(message.origin.x % 1.0, 0.0)
        np.testing.assert_allclose(voxloc.decode_cloud(message), points, atol=2e-5)

    def test_times_follow_the_coordinates(self):
        points = np.ones((3, 3), dtype=np.float32)
        message = self.encoded(points, np.array([0.0, 0.05, 0.1]))
        self.assertEqual((message.layout, message.stride),
                         (messages.CLOUD_LAYOUT_FLOAT32_XYZT, 16))
        np.testing.assert_array_equal(np.frombuffer(message.data, "<f4").reshape(3, 4)[:, 3],
                                      np.array([0.0, 0.05, 0.1], dtype=np.float32))
        np.testing.assert_array_equal(voxloc.decode_cloud(message), points)

    def test_int16_is_decoded(self):
        message = messages.Cloud(layout=messages.CLOUD_LAYOUT_INT16_XYZ, scale_m=0.01,
                                 data=np.array([100, -200, 300], "<i2").tobytes())
        np.testing.assert_allclose(voxloc.decode_cloud(message), [[1.0, -2.0, 3.0]])

    def test_refuses_what_is_no_cloud(self):
        for points in (np.zeros((3, 2)), np.zeros(3), np.zeros((3, 3), dtype=np.int32)):
            with self.assertRaisesRegex(ValueError, "points must be"):
                self.encoded(points)
        with self.assertRaisesRegex(ValueError, "times_s"):
            self.encoded(np.zeros((3, 3)), np.zeros(2))

    def test_a_scan_carries_all_that_it_is_given(self):
        pose = voxloc.Pose((1.0, 2.0, 3.0))
        message = voxloc.Scan(
            [voxloc.SensorCloud(np.zeros((2, 3), np.float32), base_T_sensor=pose, stamp_ns=5)],
            stamp_ns=4, guess_map_T_base=pose, guess_covariance=np.eye(6), odom_T_base=pose,
            twist=((1, 2, 3), (4, 5, 6)), poses=[(3, pose)], reference_position=(7, 8, 9),
            timeout_s=0.5, age_s=0.25).to_message()
        self.assertEqual({field.name for field, _ in message.ListFields()},
                         {"stamp_ns", "clouds", "guess_map_t_base", "poses", "odom_t_base",
                          "base_twist", "reference_position", "timeout_s", "age_s"})
        self.assertEqual(message.clouds[0].base_t_sensor.position.y, 2.0)
        self.assertEqual(message.clouds[0].stamp_ns, 5)
        self.assertEqual(list(message.guess_map_t_base.covariance), np.eye(6).ravel().tolist())
        self.assertEqual((message.base_twist.linear.z, message.base_twist.angular.x), (3.0, 4.0))
        self.assertEqual((message.poses[0].stamp_ns, message.reference_position.y), (3, 8.0))


class Tiles(unittest.TestCase):
    def part(self, data, last, **fields):
        cloud = messages.Cloud(layout=messages.CLOUD_LAYOUT_FLOAT32_XYZ, data=data,
                               origin=messages.Vector3(x=10.0))
        return messages.GetTilesResponse(cloud=cloud, last=last, map_revision=3, **fields)

    def test_a_digest_is_that_of_the_cpp_client(self):
        # tests/core/cloud/cloud_digest_test.cc has the same.
        offsets = np.array([[1, 2.5, -3], [0.1, -0.0, 1e-40]], dtype=np.float32)
        expected = "da7ecafd4e20aa785911f6e3df7bea620c53104943e5787f2801b5776f174134"
        self.assertEqual(voxloc.tile_digest(np.array([400000.5, -4e6, 100.0]), offsets).hex(),
                         expected)
        broken = np.insert(offsets, 1, [np.nan, 0, np.inf], axis=0)
        self.assertEqual(voxloc.tile_digest(np.array([400000.5, -4e6, 100.0]), broken).hex(),
                         expected)

    def test_parts_become_a_tile(self):
        offsets = np.random.default_rng(6).normal(size=(50, 3)).astype(np.float32)
        origin = np.array([10.0, 0.0, 0.0])
        info = messages.TileInfo(tile_id="a", sha256=voxloc.tile_digest(origin, offsets))
        assembly = tile.TileAssembly("h:1", True)
        self.assertIsNone(assembly.add(self.part(offsets[:20].tobytes(), False, tile=info)))
        whole = assembly.add(self.part(offsets[20:].tobytes(), True))
        assembly.finish()
        self.assertEqual((whole.info.tile_id, whole.revision), ("a", 3))
        self.assertEqual(whole.offsets.tobytes(), offsets.tobytes())
        np.testing.assert_array_equal(whole.points, origin + offsets.astype(np.float64))

    def test_parts_that_are_damaged_are_refused_by_name(self):
        offsets = np.ones((5, 3), dtype=np.float32)
        info = messages.TileInfo(tile_id="a", sha256=bytes(32))
        first = self.part(offsets.tobytes(), False, tile=info)
        for parts, says in (([first, self.part(b"", True)], "tile a does not have the digest"),
                            ([first, first], "tile a ends early"), ([first], "tile a ends early"),
                            ([self.part(offsets.tobytes(), True)], "no beginning")):
            assembly = tile.TileAssembly("h:1", True)
            with self.assertRaisesRegex(voxloc.Error, f"DATA_LOSS.*{says}"):
                for part in parts:
                    assembly.add(part)
                assembly.finish()


def serve(name, make_handler, behaviour):
    """A server of one method of the contract, and its address."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    method = _contract.CONTRACT.methods[name]
    handler = make_handler(behaviour, method.request.FromString, method.response.SerializeToString)
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(method.path.split("/")[1], {name: handler})])
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    return server, address


class WatchServer:
    """Serves WatchMap: each call sends two events and breaks off."""

    def __init__(self):
        self.calls = 0
        self.server, self.address = serve("WatchMap", grpc.unary_stream_rpc_method_handler,
                                          self._watch_map)

    def _watch_map(self, request, context):
        self.calls += 1
        for i in range(2):
            yield messages.WatchMapResponse(
                map=messages.MapInfo(name=request.map, revision=10 * self.calls + i))
        context.abort(grpc.StatusCode.UNAVAILABLE, "broken off")


class Watches(unittest.TestCase):
    def setUp(self):
        self.server = WatchServer()
        self.addCleanup(self.server.server.stop, 0)

    def test_begin_anew_with_threads(self):
        with voxloc.Client(self.server.address) as client:
            with client.watch("town", QUICK) as watch:
                revisions = [next(watch).map.revision for _ in range(5)]
                watch.cancel()
                self.assertEqual(list(watch), [])
        self.assertEqual(revisions, [10, 11, 20, 21, 30])

    def test_begin_anew_with_asyncio(self):
        async def drive():
            revisions = []
            async with voxloc.aio.Client(self.server.address) as client:
                async for event in client.watch("town", QUICK):
                    revisions.append(event.map.revision)
                    if len(revisions) == 5:
                        return revisions

        self.assertEqual(asyncio.run(drive()), [10, 11, 20, 21, 30])

    def test_give_up_after_their_attempts(self):
        self.server.server.stop(0).wait()
        attempts = voxloc.ReconnectOptions(max_attempts=2, initial_wait_s=0.01)
        with voxloc.Client(self.server.address) as client:
            with self.assertRaisesRegex(voxloc.Error, "UNAVAILABLE"):
                next(client.watch("town", attempts))


class Files(unittest.TestCase):
    def test_files_are_in_the_numeric_order_of_their_names(self):
        with tempfile.TemporaryDirectory() as folder:
            names = [f"{number}.pcd" for number in range(12)] + ["a-1.pcd", "a2.pcd", "a10.pcd"]
            for number, name in enumerate(names):
                pathlib.Path(folder, name).write_text(
                    "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 1\n"
                    f"HEIGHT 1\nPOINTS 1\nDATA ascii\n{number} 0 0\n")
            self.assertEqual([file.name for file in voxloc.io.list_clouds(folder)], names)
            tiles = list(voxloc.io.read_map(folder))
            self.assertEqual([points[0, 0] for _, points in tiles], list(range(len(names))))
            pathlib.Path(folder, "07.pcd").touch()
            with self.assertRaisesRegex(ValueError, "07.pcd.*7.pcd"):
                voxloc.io.list_clouds(folder)

    def test_pcd_of_every_kind_that_is_read(self):
        header = ("# .PCD v0.7\nVERSION 0.7\nFIELDS x y intensity z\nSIZE {0} {0} 4 {0}\n"
                  "TYPE F F F F\nCOUNT 1 1 2 1\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA {1}\n")
        expected = np.array([[1.5, 2.5, 3.5], [-4e6 - 0.125, 5.5, 6.5]])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.pcd")
            for size, kind in ((4, "<f4"), (8, "<f8")):
                table = np.zeros(2, dtype=[("x", kind), ("y", kind), ("i", "<f4", (2,)),
                                           ("z", kind)])
                for i, axis in enumerate("xyz"):
                    table[axis] = expected[:, i]
                path.write_bytes(header.format(size, "binary").encode() + table.tobytes())
                points = voxloc.io.read_pcd(path)
                self.assertEqual(points.dtype, np.dtype(kind))
                np.testing.assert_array_equal(points, expected.astype(kind))
            rows = "1.5 2.5 0 0 3.5\n-4000000.125 5.5 0 0 6.5\n"
            path.write_text(header.format(8, "ascii") + rows, encoding="ascii")
            np.testing.assert_array_equal(voxloc.io.read_pcd(path), expected)
            for content in (b"not a cloud", header.format(4, "binary").encode(),
                            header.format(4, "binary_compressed").encode() + bytes(100)):
                path.write_bytes(content)
                with self.assertRaisesRegex(ValueError, "a.pcd: no PCD file"):
                    voxloc.io.read_pcd(path)

    def test_viewpoint_moves_the_points_of_a_pcd(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.pcd")

            def read(viewpoint):
                path.write_text("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
                                f"VIEWPOINT {viewpoint}\nPOINTS 1\nDATA ascii\n1 2 3\n")
                return voxloc.io.read_pcd(path)

            half = 0.5 ** 0.5
            np.testing.assert_allclose(read(f"100 50 0 {half} 0 0 {half}"), [[98.0, 51.0, 3.0]])
            self.assertEqual(read("4e6 0 0 1 0 0 0").dtype, np.float64)
            for viewpoint in ("0 0 0 -1 0 0 0", "0 0 0 0 0 0 0"):
                points = read(viewpoint)
                self.assertEqual(points.dtype, np.float32)
                self.assertEqual(points.tolist(), [[1.0, 2.0, 3.0]])
            for viewpoint in ("1 2 3", "1 2 3 0 0 0 0"):
                with self.assertRaisesRegex(ValueError, "a.pcd: no PCD file"):
                    read(viewpoint)

    def test_poses_with_stamps_to_the_nanosecond(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "poses.txt")
            path.write_text("# stamp x y z qx qy qz qw\n1700000000.123456789 1 2 3 0 0 0 1\n",
                            encoding="ascii")
            [(stamp_ns, pose)] = voxloc.io.read_poses(path)
            self.assertEqual(stamp_ns, 1700000000123456789)
            self.assertEqual(pose.position.tolist(), [1.0, 2.0, 3.0])


OPENED = messages.AlignScansResponse(opened=messages.SessionOpened())


def open_state(addresses="server:1", **options):
    state = _session_state.SessionState(_route.Addresses(addresses), messages.OpenSession(),
                                        voxloc.ReconnectOptions(**options), 3)
    state.stream_opened(OPENED)
    return state


def scan_request(guess=False):
    request = messages.AlignScansRequest()
    request.scan.SetInParent()
    if guess:
        request.scan.guess_map_t_base.pose.orientation.w = 1.0
    return request


def result_of(sequence, accepted=True):
    message = messages.AlignmentResult(sequence=sequence, accepted=accepted)
    message.map_t_base.pose.position.x = float(sequence)
    return messages.AlignScansResponse(result=message)


UNAVAILABLE = voxloc.Error(grpc.StatusCode.UNAVAILABLE, "gone")


class SessionRules(unittest.TestCase):
    """The rules of a session, without threads."""

    def test_every_scan_has_one_result(self):
        state = open_state()
        for _ in range(3):
            state.add_scan(scan_request())
        with self.assertRaisesRegex(voxloc.Error, "RESOURCE_EXHAUSTED"):
            state.add_scan(scan_request())
        for sequence in (2, 2, 99, 1):
            state.take(result_of(sequence))
        self.assertEqual([result.sequence for result in state.results], [2, 1])
        self.assertEqual(state.unexpected_results, 2)
        self.assertEqual(state.find(1).sequence, 1)
        self.assertEqual(state.find(None).sequence, 2)
        self.assertIsNone(state.find(None))
        self.assertEqual(list(state.unanswered), [3])

    def test_a_reconnect_sends_the_newest_scan_with_the_last_pose(self):
        state = open_state()
        activate = messages.AlignScansRequest(activate=messages.ActivateSession(active=True))
        state.add_message(activate)
        for guess in (True, False, False):
            state.add_scan(scan_request(guess))
        state.take(result_of(1))
        self.assertIsNotNone(state.stream_ended(UNAVAILABLE))
        self.assertFalse(state.writable)
        again = state.stream_opened(OPENED)
        self.assertEqual([r.WhichOneof("request") for r in again], ["activate", "scan"])
        self.assertEqual((state.reconnects, again[1].scan.sequence), (1, 3))
        # Without a guess: the pose of scan 1. With one: its own.
        self.assertEqual(again[1].scan.guess_map_t_base.pose.position.x, 1.0)
        self.assertEqual([(r.sequence, r.status.name) for r in state.results],
                         [(1, "UNSPECIFIED"), (2, "STALE")])
        self.assertEqual(state.given_up, 1)
        state.results.clear()
        own = state.add_scan(scan_request(guess=True))
        self.assertEqual(own.scan.guess_map_t_base.pose.position.x, 0.0)
        # Once a scan is accepted, the session has guesses of its own again.
        state.take(result_of(3))
        state.find(None)
        self.assertFalse(state.add_scan(scan_request()).scan.HasField("guess_map_t_base"))

    def test_a_reconnect_sends_the_pose_of_the_filter_where_there_is_one(self):
        state = open_state()
        state.add_scan(scan_request())
        answer = result_of(1, accepted=False)
        answer.result.fused.map_t_base.pose.position.x = 7.5
        state.take(answer)
        state.stream_ended(UNAVAILABLE)
        state.stream_opened(OPENED)
        sent = state.add_scan(scan_request())
        self.assertEqual(sent.scan.guess_map_t_base.pose.position.x, 7.5)
        answer.result.sequence = 2
        state.take(answer)
        self.assertFalse(state.add_scan(scan_request()).scan.HasField("guess_map_t_base"))

    def test_a_result_has_the_pose_of_the_filter(self):
        message = messages.AlignmentResult()
        self.assertIsNone(voxloc.Result(message).fused)
        message.fused.map_t_base.pose.position.x = 7.5
        message.fused.map_t_base.pose.orientation.w = 1.0
        message.fused.map_t_base.covariance.extend(range(36))
        message.fused.resets = 2
        message.fused.scan_used = True
        fused = voxloc.Result(message).fused
        self.assertEqual(fused.map_T_base.position.tolist(), [7.5, 0.0, 0.0])
        self.assertEqual(fused.covariance[1, 2], 8.0)
        self.assertIsNone(fused.map_T_odom)
        self.assertEqual((fused.resets, fused.scan_used), (2, True))
        self.assertRegex(repr(fused), "FusedPose .*7.5.*resets 2")
        message.fused.map_t_odom.orientation.w = 1.0
        self.assertEqual(fused.map_T_odom.position.tolist(), [0.0, 0.0, 0.0])

    def test_a_stream_that_a_proxy_or_a_silence_cuts_off_is_opened_again(self):
        for error in (
                voxloc.Error(grpc.StatusCode.INTERNAL, "Received RST_STREAM with error code 2"),
                voxloc.Error(grpc.StatusCode.DEADLINE_EXCEEDED, "silent", "IDLE_TIMEOUT")):
            state = open_state()
            self.assertIsNotNone(state.stream_ended(error))
            self.assertFalse(state.ended)
        servers_own = voxloc.Error(grpc.StatusCode.INTERNAL, "no such luck", "INTERNAL")
        self.assertIsNone(open_state().stream_ended(servers_own))

    def test_the_newest_scan_is_kept_while_it_reconnects(self):
        state = open_state()
        state.stream_ended(UNAVAILABLE)
        for _ in range(2):
            state.add_scan(scan_request())
        self.assertEqual(list(state.unanswered), [2])
        self.assertEqual(state.find(1).status, voxloc.Status.STALE)

    def test_asks_again_where_the_next_server_is_full_or_has_no_map_yet(self):
        for reason in ("TOO_MANY_SESSIONS", "TOO_MANY_UNOPENED_STREAMS", "MAP_NOT_FOUND",
                       "MAP_REVISION_TOO_OLD"):
            refusal = voxloc.Error(grpc.StatusCode.NOT_FOUND, "no", reason, retry_after_s=20.0)
            state = open_state()
            state.stream_ended(UNAVAILABLE)
            self.assertTrue(20.0 <= state.stream_ended(refusal) <= 28.0)
            # Where it ends a session that was open, it ends it.
            self.assertIsNone(open_state().stream_ended(refusal))

    def test_gives_up_after_its_attempts(self):
        state = open_state(max_attempts=2, initial_wait_s=1.0, max_wait_s=1.5, factor=2.0,
                           jitter=0.1)
        self.assertTrue(0.9 <= state.stream_ended(UNAVAILABLE) <= 1.1)
        self.assertTrue(1.35 <= state.stream_ended(UNAVAILABLE) <= 1.65)
        self.assertIsNone(state.stream_ended(UNAVAILABLE))
        self.assertIn("gave up after 2 attempts", str(state.end_of_results()))
        with self.assertRaisesRegex(voxloc.Error, "gave up"):
            state.add_scan(scan_request())

    def test_other_errors_and_a_close_end_it(self):
        state = open_state()
        self.assertIsNone(state.stream_ended(voxloc.Error(grpc.StatusCode.NOT_FOUND, "no map")))
        self.assertIn("no map", str(state.end_of_results()))
        state = open_state()
        state.closing = True
        self.assertIsNone(state.stream_ended(None))
        self.assertIsInstance(state.end_of_results(), voxloc.SessionClosed)

    def test_leaves_a_server_that_drains_once_it_has_answered(self):
        state = open_state()
        state.add_scan(scan_request())
        draining = messages.SessionDraining(reconnect_after_s=7.0)
        self.assertTrue(state.take(messages.AlignScansResponse(draining=draining)))
        self.assertFalse(state.writable)
        state.add_scan(scan_request())
        state.take(result_of(1))
        self.assertEqual(state.stream_ended(None), 0.0)
        [again] = state.stream_opened(OPENED)
        self.assertEqual((again.scan.sequence, state.given_up), (2, 0))

    def test_keeps_the_newest_rejections(self):
        state = open_state()
        for stamp_ns in range(70):
            state.take(messages.AlignScansResponse(
                rejected=messages.RequestRejected(stamp_ns=stamp_ns)))
        self.assertEqual((len(state.rejections), state.rejections[0].stamp_ns), (64, 6))


class BreakingServer:
    """Serves AlignScans: of every `break_at` scans, the last is not answered and ends its stream
    with UNAVAILABLE."""

    def __init__(self, break_at):
        self._break_at = break_at
        self.seen = 0
        self.server, self.address = serve("AlignScans", grpc.stream_stream_rpc_method_handler,
                                          self._align_scans)

    def _align_scans(self, requests, context):
        for request in requests:
            if request.HasField("open"):
                yield messages.AlignScansResponse(opened=messages.SessionOpened(session="s"))
            if request.HasField("scan"):
                self.seen += 1
                if self.seen % self._break_at == 0:
                    context.abort(grpc.StatusCode.UNAVAILABLE, "broken off")
                yield result_of(request.scan.sequence)


POINTS = np.zeros((4, 3), dtype=np.float32)


@contextlib.contextmanager
def breaking_server(break_at):
    server = BreakingServer(break_at)
    try:
        yield server
    finally:
        server.server.stop(0)


class Reconnects(unittest.TestCase):
    def check(self, session, sent, received):
        """One result a scan: of those sent one by one the server's, of a burst also STALE."""
        self.assertEqual(sorted(result.sequence for result in received), sent)
        self.assertEqual({result.status for result in received[:20]}, {voxloc.Status.UNSPECIFIED})
        stale = [result for result in received if result.status == voxloc.Status.STALE]
        self.assertEqual(len(stale), session.given_up)
        self.assertGreater(session.reconnects, 5)
        self.assertEqual((session.unanswered, session.unexpected_results), ([], 0))

    def test_every_scan_has_one_result_with_threads(self):
        with breaking_server(4) as server, voxloc.Client(server.address) as client:
            with client.session("m", reconnect=QUICK) as session:
                received = [session.align(voxloc.Scan(POINTS), 60) for _ in range(20)]
                burst = [session.send(voxloc.Scan(POINTS)) for _ in range(20)]
                received += [session.receive(60) for _ in burst]
                self.check(session, list(range(1, 41)), received)

    def test_every_scan_has_one_result_with_asyncio(self):
        async def drive(address):
            async with voxloc.aio.Client(address) as client:
                async with client.session("m", reconnect=QUICK) as session:
                    received = [await session.align(voxloc.Scan(POINTS), 60) for _ in range(20)]
                    burst = [session.send(voxloc.Scan(POINTS)) for _ in range(20)]
                    received += [await session.receive(60) for _ in burst]
                    self.check(session, list(range(1, 41)), received)

        with breaking_server(4) as server:
            asyncio.run(drive(server.address))

    def test_a_newer_scan_ends_the_wait_for_one_that_the_connection_lost(self):
        slow = voxloc.ReconnectOptions(initial_wait_s=600.0, max_wait_s=600.0)

        async def drive(address):
            async with voxloc.aio.Client(address) as client:
                session = await client.session("m", reconnect=slow)
                lost = session.send(voxloc.Scan(POINTS))
                with self.assertRaises(voxloc.NoResult):
                    await session.receive_of(lost, 1.0)
                waiting = asyncio.ensure_future(session.receive_of(lost))
                await asyncio.sleep(0.0)
                self.assertEqual(session.send(voxloc.Scan(POINTS)), 2)
                self.assertEqual((await waiting).status, voxloc.Status.STALE)
                await session.cancel()

        with breaking_server(1) as server:
            asyncio.run(drive(server.address))
            with voxloc.Client(server.address) as client:
                session = client.session("m", reconnect=slow)
                lost = session.send(voxloc.Scan(POINTS))
                with self.assertRaises(voxloc.NoResult):
                    session.receive_of(lost, 1.0)
                with concurrent.futures.ThreadPoolExecutor(1) as threads:
                    waiting = threads.submit(session.receive_of, lost)
                    self.assertEqual(session.send(voxloc.Scan(POINTS)), 2)
                    self.assertEqual(waiting.result().status, voxloc.Status.STALE)
                session.cancel()

    def test_a_scan_that_never_is_answered_ends_the_session_with_the_error(self):
        with breaking_server(1) as server, voxloc.Client(server.address) as client:
            options = voxloc.ReconnectOptions(max_attempts=0)
            session = client.session("m", reconnect=options)
            sequence = session.send(voxloc.Scan(POINTS))
            with self.assertRaisesRegex(voxloc.Error, "UNAVAILABLE.*broken off"):
                session.receive(60)
            self.assertEqual(session.unanswered, [sequence])
            with self.assertRaisesRegex(voxloc.Error, "broken off"):
                session.send(voxloc.Scan(POINTS))

    def test_no_result_in_time_leaves_the_session_open(self):
        with breaking_server(100) as server, voxloc.Client(server.address) as client:
            with client.session("m") as session:
                with self.assertRaises(voxloc.NoResult) as raised:
                    session.receive(0.01)
                self.assertIsInstance(raised.exception, TimeoutError)
                self.assertEqual(session.align(voxloc.Scan(POINTS), 60).sequence, 1)

    def test_points_that_are_none_are_refused_with_their_type(self):
        for bad, got in (([[0, 0, 0]], "list of list"), (None, "NoneType"), ("scan.pcd", "str"),
                         ((1, 2), "tuple of int")):
            with self.assertRaisesRegex(ValueError, rf"shape \(N, 3\).*\(got {got}\)"):
                voxloc.Scan(bad)
        self.assertEqual(repr(voxloc.Scan(POINTS, stamp_ns=5)), f"<Scan {len(POINTS)} points at 5 ns>")
        self.assertEqual(repr(voxloc.Scan([voxloc.SensorCloud(POINTS)])),
                         f"<Scan {len(POINTS)} points at 0 ns>")

    def test_a_server_that_is_not_there(self):
        with breaking_server(1) as server:
            address = server.address
        with voxloc.Client(address) as client:
            with self.assertRaisesRegex(voxloc.Error, "UNAVAILABLE"):
                client.session("m")
            with self.assertRaisesRegex(voxloc.Error, "UNAVAILABLE"):
                client.list_maps()
        for bad in ("localhost", "localhost:115587", "dns:///localhost:115587", "localhost:0",
                    "localhost:+1", "localhost:1_0", "::1", "http://localhost:50051", ""):
            with self.assertRaisesRegex(ValueError, "HOST:PORT with a port from 1 to 65535"):
                voxloc.Client(bad)
        for good in ("localhost:65535", "[::1]:1, a.example.com:50051", "dns:///a:1", "unix:/a/b"):
            voxloc.Client(good).close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
