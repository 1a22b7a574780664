#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library for Python: python_library_test.py PACKAGE_DIR PROGRAMS_DIR. PACKAGE_DIR has voxloc."""

import json
import os
import pathlib
import re
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

os.environ.pop("LD_PRELOAD", None)  # of this process alone: the programs have a runtime of their own
SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/support/python"))
PACKAGE = sys.argv.pop(1)
sys.path.insert(0, PACKAGE)
try:
    import numpy as np
    import voxloc
    from voxloc import localizer as library  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import bags  # noqa: E402
import town_drive  # noqa: E402


class Library(town_drive.TownDrive):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.map = voxloc.Map.from_file(cls.folder / "town/map")
        cls.localizer = voxloc.Localizer(cls.map, threads=2)
        cls.truth = [voxloc.Pose(pose[:3], pose[3:])
                     for pose in bags.read_kitti_poses(cls.folder / "town/poses.txt")]
        cls.scans = [voxloc.io.read_pcd(path)
                     for path in voxloc.io.list_clouds(cls.folder / "town/scans")]
        cls.scan = cls.scans[3][::20].copy()
        cls.guess = voxloc.Pose(cls.truth[3].position + [0.3, -0.2, 0.0], cls.truth[3].orientation)

    def assert_same(self, a, b):
        self.assertEqual(repr(a.map_T_base), repr(b.map_T_base))
        np.testing.assert_array_equal(a.covariance, b.covariance)
        self.assertEqual((a.status, a.confidence, a.nvtl), (b.status, b.confidence, b.nvtl))

    def test_finds_the_vehicle(self):
        found = self.localizer.align(self.scan, self.guess, trace=True, point_scores=True)
        self.assertTrue(found.accepted, found.detail)
        self.assertEqual(found.status, "OK")
        self.assertLess(found.map_T_base.distance_to(self.truth[3]), 0.05)
        self.assertEqual(found.covariance.shape, (6, 6))
        self.assertGreater(np.linalg.eigvalsh(found.covariance)[0], 0.0)
        self.assertGreater(found.confidence, 0.5)
        self.assertGreater(found.matched_ratio, 0.5)
        self.assertEqual(found.trace["hessian"].shape, (found.iterations, 6, 6))
        np.testing.assert_allclose(found.trace["map_T_base"][0],
                                   [*self.guess.position, *self.guess.orientation], atol=1e-14)
        self.assertEqual(found.point_scores.shape, (len(self.scan),))
        self.assertIn("<Alignment OK Pose(", repr(found))
        self.assertIn("<th>NVTL</th>", found._repr_html_())
        self.assertIn("cpu", self.localizer.device)
        self.assertIn("tiles", repr(self.map))

    def test_gives_the_numbers_of_the_command_line(self):
        done = json.loads(self.run_voxloc(
            "replay", "--server", self.server.address, "--map", "town", "--scans", "town/scans",
            "--poses", "town/poses_tum.txt", "--pose-format", "tum", "--perturb",
            "0.3,0.3,0.1,0.5,0.5,1", "--json", "-").stdout)
        for row, scan in zip(done["results"], self.scans):
            found = self.localizer.align(scan, row["guess"])
            self.assertEqual(found.status, row["status"])
            self.assertEqual(found.iterations, row["iterations"])
            self.assertEqual([*found.map_T_base.position, *found.map_T_base.orientation], row["pose"])
            self.assertEqual(found.nvtl, row["scores"]["nvtl"])

    def test_takes_points_of_any_layout(self):
        expected = self.localizer.align(self.scan, self.guess)
        records = np.zeros((len(self.scan), 5), dtype=np.float32)
        records[:, :3] = self.scan
        for points in (np.asfortranarray(self.scan), records[:, :3], self.scan.astype(np.float64),
                       self.scan[::-1][::-1]):
            self.assert_same(self.localizer.align(points, self.guess), expected)
        with_nan = np.insert(self.scan, 5, np.nan, axis=0)
        self.assert_same(self.localizer.align(with_nan, self.guess), expected)
        seven = [*self.guess.position, *self.guess.orientation]
        self.assert_same(self.localizer.align(self.scan, seven), expected)
        matrix = self.localizer.align(self.scan, self.guess.matrix())
        self.assertLess(matrix.map_T_base.distance_to(expected.map_T_base), 1e-6)

    def test_keeps_the_precision_of_maps_far_from_zero(self):
        offset = np.array([400_000.25, 5_000_000.5, 10.0])
        far = voxloc.Map()
        for name in self.map.tiles:
            far.add_tile(name, self.map.points(name).astype(np.float64) + offset)
        some = next(iter(self.map.tiles))
        self.assertEqual(far.points(some).dtype, np.float64)
        np.testing.assert_allclose(far.points(some) - offset, self.map.points(some), atol=1e-4)
        guess = voxloc.Pose(self.guess.position + offset, self.guess.orientation)
        found = voxloc.Localizer(far, threads=2).align(self.scan, guess)
        expected = self.localizer.align(self.scan, self.guess).map_T_base
        self.assertLess(np.linalg.norm(found.map_T_base.position - offset - expected.position), 0.01)

    def test_locates_and_scores(self):
        found = self.localizer.locate(self.scan)
        self.assertTrue(found.reliable)
        self.assertLess(found.hypotheses[0].map_T_base.distance_to(self.truth[3]), 0.1)
        low, high = self.truth[3].position - 2.0, self.truth[3].position + 2.0
        near = self.localizer.locate(self.scan, within=(low, high))
        self.assertLess(near.hypotheses[0].map_T_base.distance_to(self.truth[3]), 0.1)
        scores = self.localizer.score(self.scan, [self.guess, self.truth[3]])
        self.assertGreater(scores.nvtl[1], scores.nvtl[0])
        self.assertEqual(scores.matched_ratio.shape, (2,))

    def test_batches_and_threads_give_the_bits_of_single_calls(self):
        scans = [scan[::20] for scan in self.scans]
        expected = [self.localizer.align(*both) for both in zip(scans, self.truth)]
        for one, both in zip(self.localizer.align_batch(scans, self.truth), expected):
            self.assert_same(one, both)
        found = {}

        def run(i):
            found[i] = [self.localizer.align(*both) for both in zip(scans, self.truth)]

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for i in range(10):  # the map is changed and freed while it is in use
            changed = voxloc.Map.from_file(self.folder / "town/map")
            self.localizer.set_map(changed)
            del changed
        for thread in threads:
            thread.join()
        for results in found.values():
            for one, both in zip(results, expected):
                self.assert_same(one, both)

    def test_a_map_and_its_localizer_have_lives_of_their_own(self):
        map_ = voxloc.Map.from_points(self.scans[3])
        localizer = voxloc.Localizer(map_, threads=1)
        self.assertTrue(map_.remove_tile("map"))
        self.assertFalse(map_.remove_tile("map"))
        del map_
        self.assertTrue(localizer.align(self.scan, voxloc.Pose()).accepted)

    def test_aligns_two_clouds_in_one_call(self):
        target = self.scans[3]
        moved = voxloc.Pose.from_rpy((0.4, -0.3, 0.05), 0.0, 0.0, 0.03)
        source = moved.inverse().apply(target[::10]).astype(np.float32)
        found = voxloc.align(target, source)
        self.assertLess(found.map_T_base.distance_to(moved), 0.02)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "scan.pcd")
            voxloc.io.write_pcd(path, self.scan)
            np.testing.assert_array_equal(voxloc.io.read_cloud(path), self.scan)
            np.testing.assert_array_equal(voxloc.io.read_pcd(path), self.scan)
            far = self.scan.astype(np.float64) + [1e6, 0.0, 0.0]
            voxloc.io.write_pcd(path, far)
            np.testing.assert_allclose(voxloc.io.read_cloud(path), far, atol=1e-3)
            for invalid in (np.nan, 1e9):
                voxloc.io.write_pcd(path, np.insert(far, 0, invalid, axis=0))
                np.testing.assert_allclose(voxloc.io.read_cloud(path)[1:], far, atol=1e-3)
            array, text = (os.path.join(folder, name) for name in ("scan.npy", "scan.xyz"))
            np.save(array, self.scan)
            np.testing.assert_array_equal(voxloc.io.read_cloud(array), self.scan)
            np.save(array, np.asfortranarray(self.scan))
            with self.assertRaisesRegex(ValueError, "ascontiguousarray"):
                voxloc.io.read_cloud(array)
            np.savetxt(text, far, fmt="%.4f")
            np.testing.assert_allclose(voxloc.io.read_cloud(text), far, atol=1e-3)
            with self.assertRaisesRegex(FileNotFoundError, "none.pcd"):
                voxloc.io.read_cloud(os.path.join(folder, "none.pcd"))
            with open(path, "w", encoding="utf-8") as file:
                file.write("no PCD")
            with self.assertRaisesRegex(ValueError, "scan.pcd"):
                voxloc.io.read_cloud(path)
        thinned = voxloc.io.voxel_downsample(self.scan, 2.0)
        self.assertLess(len(thinned), len(self.scan))

    def test_what_makes_no_sense_is_a_value_error(self):
        align = self.localizer.align
        for words, call in (
                (r"\(N, 3\).*\(5, 4\) of float32", lambda: align(np.zeros((5, 4), np.float32), self.guess)),
                (r"\(N, 3\).*\(9,\)", lambda: align(np.zeros(9), self.guess)),
                ("of int64", lambda: align(np.zeros((5, 3), np.int64), self.guess)),
                ("of object", lambda: align(np.array([[None] * 3]), self.guess)),
                ("finite", lambda: align(np.zeros((0, 3)), self.guess)),
                ("finite", lambda: align(np.full((5, 3), np.nan), self.guess)),
                ("finite", lambda: align(self.scan, [np.nan, 0, 0, 0, 0, 0, 1])),
                ("quaternion", lambda: align(self.scan, [0, 0, 0, 0, 0, 0, 0])),
                ("4x4 matrix", lambda: align(self.scan, np.eye(3))),
                ("covariance must have 36", lambda: align(self.scan, self.guess, np.eye(3))),
                ("guess_covariance", lambda: align(self.scan, self.guess, -np.eye(6))),
                ("twist must have 6", lambda: align(self.scan, self.guess, twist=[1.0])),
                ("timeout_s", lambda: align(self.scan, self.guess, timeout_s=float("nan"))),
                ("a guess for each scan", lambda: self.localizer.align_batch([self.scan], [])),
                ("scan 1: ", lambda: self.localizer.align_batch([self.scan, np.zeros((0, 3))],
                                                                [self.guess] * 2)),
                ("max_hypotheses", lambda: self.localizer.locate(self.scan, max_hypotheses=0)),
                ("within", lambda: self.localizer.locate(self.scan, within=(1, 2))),
                ("threads", lambda: voxloc.Localizer(self.map, threads=-1)),
                ("autoware, precise", lambda: voxloc.Localizer(self.map, profile="fast")),
                ("cpu, cuda", lambda: voxloc.Localizer(self.map, device="tpu")),
                (r"\(N, 3\)", lambda: voxloc.Map.from_points(np.zeros((3, 2)))),
        ):
            with self.assertRaisesRegex(ValueError, words):
                call()
        with self.assertRaisesRegex(TypeError, "must be a voxloc.Map .got str"):
            voxloc.Localizer("town")
        with self.assertRaises(FileNotFoundError):
            voxloc.Map.from_file("/nowhere.pcd")
        self.assertEqual(self.localizer.align_batch([], []), [])
        self.assertEqual(align(self.scan, self.guess, timeout_s=1e-9).status, "DEADLINE")

    def run_blocks(self, blocks):
        """Runs them one after the other in the folder of the drive; the names that they leave."""
        try:
            import matplotlib
            matplotlib.use("Agg")
        except ImportError:  # plots are called, and draw nothing
            pyplot = mock.MagicMock(
                subplots=lambda *_, **__: (mock.MagicMock(), (mock.MagicMock(), mock.MagicMock())))
            sys.modules["matplotlib"] = mock.MagicMock(pyplot=pyplot)
            sys.modules["matplotlib.pyplot"] = pyplot
        names = {}
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with mock.patch.dict(os.environ, PATH=f"{self.programs}:{os.environ['PATH']}"):
                for block in blocks:
                    exec(block, names)
        finally:
            os.chdir(before)
        return names

    def test_the_examples_of_the_document_run(self):
        text = (SOURCE / "docs/library.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 3)
        errors = self.run_blocks(blocks)["errors"]
        self.assertEqual(len(errors), self.SCANS)
        self.assertLess(max(errors), 0.1)

    def test_the_notebook_runs(self):
        notebook = json.loads((SOURCE / "clients/python/examples/library.ipynb").read_text(
            encoding="utf-8"))
        names = self.run_blocks("".join(cell["source"]) for cell in notebook["cells"]
                                if cell["cell_type"] == "code")
        self.assertLess(names["distance_m"][-1], 0.1)
        self.assertLess(abs(names["offsets_m"][names["scores"].transform_probability.argmax()]), 0.11)

    def test_other_threads_run_while_a_call_computes(self):
        stop = threading.Event()
        counts = [0]

        def count():
            while not stop.is_set():
                counts[0] += 1
                time.sleep(0)

        other = threading.Thread(target=count)
        other.start()
        before = counts[0]
        self.localizer.locate(self.scans[3])
        during = counts[0] - before
        stop.set()
        other.join()
        self.assertGreater(during, 0)


if __name__ == "__main__":
    Library.programs = os.path.abspath(sys.argv.pop(1))
    unittest.main()
