#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python client against a voxlocd with TLS and an access file: secured_e2e_test.py SOURCE_DIR
PROGRAMS_DIR. Certificates are made with the openssl program."""

import asyncio
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support" / "python"))
import python_client  # noqa: E402
import voxlocd  # noqa: E402
from certificates import Certificates  # noqa: E402

if len(sys.argv) != 3:
    sys.exit("usage: secured_e2e_test.py SOURCE_DIR PROGRAMS_DIR")
PROGRAMS = pathlib.Path(sys.argv.pop()).resolve()
SOURCE = pathlib.Path(sys.argv.pop()).resolve()
python_client.make_importable(SOURCE)

import grpc  # noqa: E402
import numpy as np  # noqa: E402
import voxloc  # noqa: E402

TIMEOUT_S = 100
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
MAPPER, TRUCK = "a mapper's token".replace(" ", "_"), "a_truck's_token"


def access_file(truck_maps="town"):
    hashes = {name: hashlib.sha256(token.encode()).hexdigest()
              for name, token in (("mapper", MAPPER), ("truck", TRUCK))}
    return f"""identities:
  mapper:
    token_sha256: [{hashes["mapper"]}]
    roles: [map-write]
  truck:
    token_sha256: [{hashes["truck"]}]
    roles: [track]
    maps: [{truck_maps}]
    vehicles: [truck]
"""


@unittest.skipIf(shutil.which("openssl") is None, "the openssl program is not installed")
class Secured(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="voxloc_python_secured_")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.town = cls.folder / "town"
        subprocess.run([PROGRAMS / "voxloc", "simulate", "--size", "100", "--scans", "2",
                        "--map-spacing", "0.3", "--rate", "1", cls.town], check=True,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
        certificates = Certificates(cls.folder)
        certificate, key = certificates.sign("server", "IP:127.0.0.1")
        cls.ca = certificates.authority[0]
        cls.access = cls.folder / "access.yaml"
        cls.access.write_text(access_file())
        cls.server = voxlocd.Voxlocd(
            [PROGRAMS / "voxlocd", "--engine=cpu", f"--tls.certificate={certificate}",
             f"--tls.private-key={key}", f"--access-file={cls.access}"], cls.folder)
        cls.addClassCleanup(cls.server.stop)
        cls.server.wait_until_ready()
        tiles = {path.stem: voxloc.io.read_pcd(path)
                 for path in sorted((cls.town / "map").rglob("*.pcd")) if path.is_file()}
        assert tiles
        with voxloc.Client(cls.server.address, options=cls.options(MAPPER)) as mapper:
            mapper.load_map("town", tiles, timeout_s=TIMEOUT_S)
        cls.cloud = voxloc.io.read_pcd(sorted((cls.town / "scans").glob("*.pcd"))[0])
        rows = np.loadtxt(cls.town / "poses.txt")[0].reshape(3, 4)  # KITTI's format
        cls.truth = voxloc.Pose.from_matrix(np.vstack((rows, (0.0, 0.0, 0.0, 1.0))))

    @classmethod
    def options(cls, token, **more):
        return voxloc.ChannelOptions(tls=True, tls_ca_file=cls.ca, token=token, **more)

    def scan(self, **more):
        return voxloc.Scan(self.cloud, stamp_ns=1, guess_map_T_base=self.truth, **more)

    def assert_refused(self, client, code, reason, call):
        with client:
            with self.assertRaises(voxloc.Error) as raised:
                call(client)
        self.assertEqual((raised.exception.code, raised.exception.reason), (code, reason))

    def test_a_truck_tracks_on_its_map_by_its_token(self):
        traced = self.options(TRUCK, traceparent=f"00-{TRACE}-00f067aa0ba902b7-01")
        setup = voxloc.Setup("town", vehicle="truck")
        with voxloc.Client(self.server.address, options=traced) as client:
            with client.session(setup) as session:
                result = session.align(self.scan(), TIMEOUT_S)
                self.assertTrue(result.accepted, result)
                self.assertLess(result.map_T_base.distance_to(self.truth), 0.1)
                self.assertEqual(result.message.trace_id, TRACE)
                own = session.align(
                    self.scan(traceparent=f"00-{TRACE[::-1]}-00f067aa0ba902b7-00"), TIMEOUT_S)
                self.assertEqual(own.message.trace_id, TRACE[::-1])
            self.assertEqual(client.align(setup, self.scan(), TIMEOUT_S).message.trace_id, TRACE)

    def test_asyncio_does_so_too(self):
        async def track():
            async with voxloc.aio.Client(self.server.address,
                                         options=self.options(TRUCK)) as client:
                async with client.session(voxloc.Setup("town", vehicle="truck")) as session:
                    return await session.align(self.scan(), TIMEOUT_S)

        self.assertTrue(asyncio.run(track()).accepted)

    def test_what_the_token_does_not_permit_is_refused(self):
        def client(token):
            return voxloc.Client(self.server.address, options=self.options(token))

        unauthenticated, denied = (grpc.StatusCode.UNAUTHENTICATED,
                                   grpc.StatusCode.PERMISSION_DENIED)
        self.assert_refused(client(""), unauthenticated, "CREDENTIALS_MISSING",
                            lambda client: client.list_maps())
        self.assert_refused(client("nobody's"), unauthenticated, "CREDENTIALS_UNKNOWN",
                            lambda client: client.list_maps())
        self.assert_refused(client(TRUCK), denied, "ROLE_MISSING",
                            lambda client: client.drop_map("town"))
        self.assert_refused(client(TRUCK), denied, "VEHICLE_NOT_ALLOWED",
                            lambda client: client.align("town", self.scan(), TIMEOUT_S))
        other = voxloc.Setup("depot", vehicle="truck")
        self.assert_refused(client(TRUCK), denied, "MAP_NOT_ALLOWED",
                            lambda client: client.align(other, self.scan(), TIMEOUT_S))

    def test_a_client_without_tls_or_with_another_authority_gets_nowhere(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        other = Certificates(elsewhere).authority[0]
        for options in (voxloc.ChannelOptions(token=TRUCK),
                        voxloc.ChannelOptions(tls=True, tls_ca_file=other, token=TRUCK)):
            with voxloc.Client(self.server.address, options=options) as client:
                with self.assertRaises(voxloc.Error) as raised:
                    client.server_info(10)
            self.assertIn(raised.exception.code, (grpc.StatusCode.UNAVAILABLE,
                                                  grpc.StatusCode.DEADLINE_EXCEEDED))


if __name__ == "__main__":
    unittest.main(verbosity=2)
