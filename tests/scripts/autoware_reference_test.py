#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/autoware-reference without Autoware's code: how golden sets are begun and compared, and
what is made of a comparison of drives: autoware_reference_test.py SOURCE_DIR."""

import copy
import importlib.machinery
import importlib.util
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(sys.argv.pop(1)) / "scripts/autoware-reference"
sys.path.insert(0, str(SCRIPT.parent))

SET = {
    "voxels": [{"n": 6, "mean": [1.0, -4.0, 2.0]}],
    "derivatives": [{"label": "truth", "score": 8.0}],
    "alignments": [{"label": "truth", "tp_array": [1.0, 2.0]}, {"label": "far", "tp_array": [4.0]}],
    "alignments_only_finite": ["far"],
}


def load():
    loader = importlib.machinery.SourceFileLoader("autoware_reference", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def scan(verdicts, iterations, time_ms):
    recorded = {"iterations": iterations, "time_ms": 10 * time_ms} if iterations else None
    return {"verdicts": verdicts, "recorded": recorded,
            "voxloc": {"iterations": 5, "engine_ms": time_ms, "time_ms": 2 * time_ms}}


class AutowareReferenceTest(unittest.TestCase):
    def setUp(self):
        self.script = load()

    def differences(self, computed):
        return {row[0]: row[1:] for row in self.script.differences(SET, computed)}

    def test_equal_sets_have_no_difference(self):
        rows = self.differences(copy.deepcopy(SET))
        self.assertEqual(rows["cells"], (4, 4, 0.0, ""))
        self.assertEqual(rows["alignments"][:3], (2, 2, 0.0))
        self.assertTrue(self.script.golden_table({"set": (SET, copy.deepcopy(SET))})[1])

    def test_a_difference_is_a_share_of_the_largest_number_of_its_kind(self):
        computed = copy.deepcopy(SET)
        computed["voxels"][0]["mean"][2] += 0.5
        self.assertEqual(self.differences(computed)["cells"], (4, 3, 0.125, "mean"))
        text, near = self.script.golden_table({"set": (SET, computed)})
        self.assertIn("| set | cells | 4 | 3 | 1.2e-01 | mean |", text)
        self.assertFalse(near)

    def test_another_number_of_iterations_is_far_except_where_the_set_says_so(self):
        computed = copy.deepcopy(SET)
        computed["alignments"][1]["tp_array"].append(5.0)
        self.assertEqual(self.differences(computed)["alignments that only must end"][2], math.inf)
        self.assertTrue(self.script.golden_table({"set": (SET, computed)})[1])
        computed["alignments"][0]["tp_array"].append(5.0)
        self.assertFalse(self.script.golden_table({"set": (SET, computed)})[1])

    def test_poses_of_a_new_set_are_displaced_along_the_axes_of_the_base(self):
        quarter_turn = [0, -1, 0, 10, 1, 0, 0, 20, 0, 0, 1, 30]
        created = self.script.blank_set("new", quarter_turn, 7)
        self.assertEqual(created["tiles"], [{"id": "0", "begin": 0, "end": 7}])
        poses = {entry["label"]: entry["guess"] for entry in created["alignments"]}
        self.assertEqual(poses["truth"], quarter_turn + [0, 0, 0, 1])
        for expected, index in ((10.15, 3), (20.2, 7), (30.05, 11)):
            self.assertAlmostEqual(poses["offset_small"][index], expected, places=5)
        self.assertAlmostEqual(poses["offset_small"][4], math.cos(math.radians(1)), places=6)

    def test_the_table_counts_verdicts_and_iterations(self):
        spread = {"p50": 0.001, "p95": 0.002, "p99": 0.003, "max": 0.004}
        keys = ("translation_m", "x_m", "y_m", "z_m", "rotation_deg")
        result = {
            "threads": 2, "scans": 4, "verdict_agreement": 2 / 3,
            "verdicts": {"BOTH_ACCEPTED": 2, "ONLY_RECORDED": 0, "ONLY_VOXLOC": 1, "NEITHER": 0},
            "difference": {key: spread for key in keys},
            "values": {key: {"difference": spread} for key in ("transform_probability", "nvtl")},
            "results": [scan("BOTH_ACCEPTED", 5, 1.0), scan("BOTH_ACCEPTED", 5, 2.0),
                        scan("ONLY_VOXLOC", 6, 3.0), scan("NOT_RECORDED", None, 4.0)],
        }
        control = {"accepted": "1", "moved_accepted": "1", "iterations": "5",
                   "moved_iterations": "5", "moved_translation_m": "0.002",
                   "moved_rotation_deg": "0.1"}
        result["reference"] = [control, {**control, "moved_accepted": "0", "moved_iterations": "6",
                                         "moved_translation_m": "9"}]
        lines = self.script.drive_table({"a": result, "b": result}).splitlines()
        self.assertEqual(lines[0], "| p50 / p95 / p99 / max | a | b |")
        rows = {line.split(" | ")[0][2:]: line.split(" | ")[1] for line in lines[2:]}
        self.assertEqual(rows["Same verdict"], "66.67 %")
        self.assertEqual(rows["Same number of iterations"], "66.67 %")
        self.assertEqual(rows["Position, mm"], "1.000 / 2.000 / 3.000 / 4.000")
        self.assertEqual(rows["Time of Autoware's node, 2 threads, ms"],
                         "20.00 / 30.00 / 30.00 / 30.00")
        control = "Autoware beside itself, guesses 0.01 mm aside: "
        self.assertEqual(rows[control + "same verdict"], "50.00 %")
        self.assertEqual(rows[control + "position, mm"], "2.000 / 2.000 / 2.000 / 2.000")

    def test_ends_as_skipped_where_sources_are_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_VALUE_0": "https://",
                           "GIT_CONFIG_KEY_0": f"url.file://{folder}/missing/.insteadOf"}
            done = subprocess.run(
                [sys.executable, "-B", str(SCRIPT), "--sources", folder, "golden", "set.json"],
                env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertRegex(done.stderr, "--sources|libpcl-dev")


if __name__ == "__main__":
    unittest.main()
