#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`voxloc compare` on bags of a localizer that stand for Autoware's: compare_test.py PROGRAMS_DIR."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support" / "python"))
import bags  # noqa: E402
import town_drive  # noqa: E402

SCANS = town_drive.TownDrive.SCANS


def stamp_text(stamp_ns):
    return f"{stamp_ns // 10**9}.{stamp_ns % 10**9:09d}"


def write_tum(path, rows, key):
    path.write_text("".join(
        " ".join([stamp_text(row["stamp_ns"]), *map(repr, row[key])]) + "\n" for row in rows),
        encoding="utf-8")


class Compare(town_drive.TownDrive):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # A threshold in the middle of the drive's scores: some scans are rejected.
        scores = sorted(row["scores"]["nvtl"] for row in cls.replay())
        cls.gate = ("--gate", f"score_threshold={(scores[3] + scores[4]) / 2}")
        cls.results = cls.replay(*cls.gate)
        assert sum(row["accepted"] for row in cls.results) == SCANS - 4

    @classmethod
    def replay(cls, *words):
        done = cls.run_voxloc("replay", "--server", cls.server.address, "--map", "town", "--profile",
                              "autoware", "--scans", "town/scans", "--poses", "town/poses.txt",
                              "--points", "1500", "--perturb", "0.3,0.3,0.1,0.5,0.5,1", "--json", "-",
                              *words)
        return json.loads(done.stdout)["results"]

    def compare(self, *words, expect=0):
        done = self.run_voxloc("compare", "--server", self.server.address, "--map", "town", "--points",
                               "1500", *self.gate, "--json", "-", *words, expect=expect)
        return json.loads(done.stdout), done.stderr

    def write_bag(self, name, results, drop=()):
        recording = bags.localizer_recording(self.clouds, results)
        bags.write_mcap(self.folder / name, [row for row in recording if row[0] not in drop])

    def assert_same(self, found):
        self.assertTrue(found["passed"])
        self.assertEqual(found["verdicts"]["BOTH_ACCEPTED"], SCANS - 4)
        self.assertEqual(found["verdicts"]["NEITHER"], 4)
        self.assertEqual(found["verdict_agreement"], 1.0)
        self.assertEqual(found["compared_poses"], SCANS - 4)
        # Quaternions are normalised once more.
        self.assertLess(found["difference"]["translation_m"]["max"], 1e-12)
        self.assertLess(found["difference"]["rotation_deg"]["max"], 1e-6)
        self.assertEqual(found["values"]["iterations"]["difference"]["max"], 0.0)
        self.assertLess(found["values"]["nvtl"]["difference"]["max"], 1e-6)  # float32
        for row, result in zip(found["results"], self.results):
            self.assertEqual(row["guess"][:3], result["guess"][:3])
            self.assertEqual(row["recorded"]["accepted"], result["accepted"])

    def test_the_results_of_a_replay_are_the_same(self):
        self.write_bag("same.mcap", self.results)
        found, said = self.compare("--bag", "same.mcap", "--report", "same.html")
        self.assert_same(found)
        self.assertEqual(found["values"]["iterations"]["scans"], SCANS)
        self.assertEqual(found["scans"], SCANS)
        self.assertEqual({row["recorded"]["diagnostics"]["level"] for row in found["results"]},
                         {"OK", "WARN"})
        self.assertIn("recorded poses from /localization/pose_estimator/pose_with_covariance", said)
        self.assertIn("guesses from /localization/pose_estimator/initial_pose_with_covariance", said)
        page = (self.folder / "same.html").read_text(encoding="utf-8")
        self.assertIn('"passed":true', page)
        text = self.run_voxloc("compare", "--server", self.server.address, "--map", "town", "--points",
                               "1500", *self.gate, "--bag", "same.mcap").stdout
        self.assertTrue(text.endswith("\nPASS\n"), text)

    def test_files_say_the_same_as_a_bag(self):
        write_tum(self.folder / "guesses.txt", self.results, "guess")
        write_tum(self.folder / "poses_of_it.txt", [row for row in self.results if row["accepted"]],
                  "pose")
        (self.folder / "values.csv").write_text("stamp,nvtl,iterations,comment\n" + "".join(
            f"{stamp_text(row['stamp_ns'])},{row['scores']['nvtl']!r},{row['iterations']},x\n"
            for row in self.results), encoding="utf-8")
        found, _ = self.compare("--scans", "town/scans", "--guesses", "guesses.txt", "--poses",
                                "poses_of_it.txt", "--values", "values.csv")
        self.assert_same(found)
        self.assertEqual(found["values"]["time_ms"]["scans"], 0)

    def test_other_poses_and_verdicts_fail(self):
        def moved(row, metres):
            return {**row, "pose": [row["pose"][0] + metres, *row["pose"][1:]]}

        self.write_bag("moved.mcap", [moved(row, 0.03) for row in self.results])
        found, _ = self.compare("--bag", "moved.mcap", expect=4)
        self.assertEqual([check["passed"] for check in found["checks"]], [False, True, True, True])
        self.assertAlmostEqual(found["checks"][0]["value"], 0.03, places=9)
        found, _ = self.compare("--bag", "moved.mcap", "--max-position-m", "0.04")
        self.assertTrue(found["passed"])

        refused = next(i for i, row in enumerate(self.results) if row["accepted"])
        others = [{**row, "accepted": row["accepted"] and i != refused}
                  for i, row in enumerate(self.results)]
        self.write_bag("refused.mcap", others)
        found, _ = self.compare("--bag", "refused.mcap", expect=4)
        self.assertEqual([check["passed"] for check in found["checks"]], [True, True, False, True])
        self.assertEqual(found["verdicts"]["ONLY_VOXLOC"], 1)
        self.compare("--bag", "refused.mcap", "--min-verdict-agreement", "0.9")

    def test_a_scan_that_the_localizer_skipped_has_no_verdict(self):
        recording = [row for row in bags.localizer_recording(self.clouds, self.results)
                     if row[2] != self.results[5]["stamp_ns"] or row[0].endswith("downsample/pointcloud")]
        bags.write_rosbag2(self.folder / "skipped.db3", recording)
        found, _ = self.compare("--bag", "skipped.db3")
        self.assertEqual(found["results"][5]["verdicts"], "NOT_RECORDED")
        self.assertEqual(found["verdicts"]["NOT_RECORDED"], 1)
        self.assertEqual(found["verdict_agreement"], 1.0)
        self.assertAlmostEqual(found["compared_share"], (SCANS - 1) / SCANS)
        found, _ = self.compare("--bag", "skipped.db3", "--min-compared", "0.95", expect=4)
        self.assertEqual([check["passed"] for check in found["checks"]], [True, True, True, False])

    def test_reference_positions_pull_as_they_did_in_the_recorded_run(self):
        references = self.folder / "references.txt"
        write_tum(references, [{**row, "guess": [row["guess"][0] + 3.0, *row["guess"][1:]]}
                               for row in self.results], "guess")
        self.write_bag("pulled.mcap", self.replay(*self.gate, "--references", str(references)))
        found, _ = self.compare("--bag", "pulled.mcap", "--references", str(references))
        self.assertLess(found["difference"]["translation_m"]["max"], 1e-12)
        without, _ = self.compare("--bag", "pulled.mcap", "--max-position-m", "0", expect=4)
        self.assertGreater(without["difference"]["translation_m"]["max"], 1e-4)

    def test_guesses_of_a_filter_are_interpolated(self):
        # Two poses around each scan but the last, whose middle is the guess.
        initial = bags.POSE_ESTIMATOR + "/initial_pose_with_covariance"
        recording = []
        for topic, kind, stamp_ns, message in bags.localizer_recording(self.clouds, self.results):
            if topic != initial:
                recording.append((topic, kind, stamp_ns, message))
                continue
            for side in ((-1, 1) if stamp_ns != self.results[-1]["stamp_ns"] else ()):
                x, *rest = message.pose
                recording.append(("/filter/ekf_pose_with_covariance", kind, stamp_ns,
                                  bags.PoseWithCovariance(stamp_ns + side * 10_000_000, "map",
                                                          [x + side * 0.25, *rest])))
        bags.write_mcap(self.folder / "filter.mcap", recording)
        found, said = self.compare("--bag", "filter.mcap")
        self.assertIn("1 scans are left out: there are no guesses at their stamp", said)
        self.assertEqual(found["guesses"], "/filter/ekf_pose_with_covariance")
        self.assertEqual(found["scans"], SCANS - 1)
        for row, result in zip(found["results"], self.results):
            for value, expected in zip(row["guess"], result["guess"]):
                self.assertAlmostEqual(value, expected, places=9)
        self.assertTrue(found["passed"])

    def test_topics_that_are_missing_or_several_are_named(self):
        pose = bags.POSE_ESTIMATOR + "/pose_with_covariance"
        guess = bags.POSE_ESTIMATOR + "/initial_pose_with_covariance"

        def refusal(*words, results=self.results, drop=()):
            self.write_bag("wrong.mcap", results, drop)
            return self.run_voxloc("compare", "--server", self.server.address, "--map", "town",
                                   "--bag", "wrong.mcap", *words, expect=1).stderr

        said = refusal(drop=[pose])
        self.assertIn("the bag has no poses of a localizer", said)
        self.assertIn("--poses-topic", said)
        self.assertIn("/sensing/gnss/pose_with_covariance (geometry_msgs/msg/", said)
        said = refusal(drop=[guess])
        self.assertIn("the bag has no guesses", said)
        self.assertIn("/sensing/gnss/pose_with_covariance (geometry_msgs/msg/", said)
        self.assertIn("there are: /localization/pose_estimator)", refusal("--node-namespace", "/x"))
        self.assertIn("the bag has no topic /y", refusal("--poses-topic", "/y"))
        recording = bags.localizer_recording(self.clouds, self.results)
        bags.write_mcap(self.folder / "two.mcap", recording + [
            (topic.replace("/localization", "/shadow"), *row) for topic, *row in recording])
        said = self.run_voxloc("compare", "--server", self.server.address, "--map", "town", "--bag",
                               "two.mcap", expect=1).stderr
        self.assertIn("--node-namespace: /localization/pose_estimator, /shadow/pose_estimator", said)
        # What is named is taken, and the other is left alone.
        found, _ = self.compare("--bag", "two.mcap", "--node-namespace", "/shadow/pose_estimator",
                                "--points-topic", "/shadow/util/downsample/pointcloud")
        self.assertEqual(found["poses"], "/shadow/pose_estimator/pose_with_covariance")
        self.assert_same(found)

    def test_wrong_usage_and_files_are_refused(self):
        for words in (("--bag", "x.mcap", "--scans", "town/scans"), ("--scans", "town/scans"),
                      ("--bag", "x.mcap", "--percentile", "101"), ()):
            self.run_voxloc("compare", "--map", "town", *words, expect=2)
        (self.folder / "bad.csv").write_text("stamp,nvtl\n1.0,abc\n", encoding="utf-8")
        self.write_bag("fine.mcap", self.results)
        done = self.run_voxloc("compare", "--server", self.server.address, "--map", "town", "--bag",
                               "fine.mcap", "--values", "bad.csv", expect=1)
        self.assertIn("bad.csv line 2: nvtl must be a number (got 'abc')", done.stderr)


if __name__ == "__main__":
    Compare.programs = sys.argv.pop(1)
    unittest.main()
