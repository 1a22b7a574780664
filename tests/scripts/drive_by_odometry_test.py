#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/drive_by_odometry.py without driving: what it makes of the JSON of a replay:
drive_by_odometry_test.py SOURCE_DIR."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(SOURCE / "tests/bench"))
import drive_by_odometry  # noqa: E402


def row(along_m, source="scan", within=True):
    return {"fused": {"sources": [source] + ["scan"] * 5, "error_m": {"along": along_m},
                      "translation_error_m": abs(along_m),
                      "within_3_sigma": {"along": within, "across": True, "up": True}}}


NONE = {"fused": None}


class DriveByOdometryTest(unittest.TestCase):
    def returns(self, *rows):
        return drive_by_odometry.scans_to_return(list(rows))

    def test_scans_are_counted_from_the_end_of_each_stretch_that_ends_off(self):
        tunnel = [row(0.05, "motion"), row(0.3, "motion")]
        self.assertEqual(self.returns(row(0.0), *tunnel, row(0.2), row(-0.15), row(0.1), row(0.4)), [3])
        self.assertEqual(self.returns(*tunnel, row(0.0), *tunnel, row(0.2), row(0.0)), [1, 2])

    def test_a_stretch_that_ends_near_the_truth_does_not_count(self):
        self.assertEqual(self.returns(row(0.3, "motion"), row(0.1, "motion"), row(0.2), row(0.0)), [])
        self.assertEqual(self.returns(NONE, row(0.5), row(0.0)), [])

    def test_a_pose_that_does_not_return_is_none(self):
        tunnel = [row(0.3, "motion")]
        self.assertEqual(self.returns(*tunnel, row(0.2), *tunnel, row(0.2)), [None, None])

    def test_lost_is_off_without_admitting_it_or_without_a_pose(self):
        self.assertEqual(drive_by_odometry.lost_scans(
            [NONE, row(0.0), row(5.0), row(1.5, within=False), row(0.9, within=False), NONE]), 2)

    def test_the_names_are_those_of_the_list(self):
        path = SOURCE / "tests/bench/scenes/choosing.txt"
        chosen = drive_by_odometry.flags_by_name(path, ["clean-tunnel", "clean-hall"])
        self.assertEqual(list(chosen), ["clean-tunnel-103", "clean-hall-105"])
        self.assertIn("--seed 103", chosen["clean-tunnel-103"])
        lines = path.read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(drive_by_odometry.flags_by_name(path, [])),
                         sum(" --seed " in line for line in lines))

    def test_a_row_has_a_cell_for_each_column(self):
        errors = {"p50": 0.01, "max": 0.5}
        run = {"scans": 3, "accepted": 2, "dead_reckoning": {"max_error_m": 9.0},
               "error_m": {"along": {"p50": None, "max": None}},
               "results": [row(0.0), row(0.3, "motion"), row(0.0)],
               "fused": {"error_m": {"along": errors, "across": errors}, "end_m": {"along": -0.02},
                         "beyond_dead_reckoning_m": 0.1, "accepted_outside_3_sigma": 1, "resets": 1,
                         "within_3_sigma": {"along": 2, "across": 3, "up": 3, "of": 3}}}
        self.assertEqual(drive_by_odometry.row_of("a", run),
                         ["a", "9.00", "2 of 3", "-", "0.010 / 0.500", "0.010 / 0.500", "-0.020", "0.100",
                          "2 of 3", "3", "1", "1", "1", "0"])
        self.assertEqual(len(drive_by_odometry.COLUMNS), 14)
        run["fused"] = None
        self.assertEqual(len(drive_by_odometry.row_of("a", run)), 14)


if __name__ == "__main__":
    unittest.main()
