#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/demo on a tiny town, with the programs that are built: demo_test.py BUILD OUT.

Leaves its data and report in OUT, where other tests find them.
"""

import json
import math
import pathlib
import shutil
import subprocess
import sys
import unittest

SCANS = 15
DEMO = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "demo"


def demo(*arguments):
    return subprocess.run([DEMO, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=100, check=False)


class Demo(unittest.TestCase):
    def test_tracks_a_tiny_town_and_writes_a_report(self):
        shutil.rmtree(self.out, ignore_errors=True)
        done = demo("--no-build", "--build", self.build, "--out", self.out, "--size", "100",
                    "--scans", str(SCANS))
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"Open {self.out}/report.html in a browser.", done.stdout)

        replay = json.loads(pathlib.Path(self.out, "replay.json").read_text(encoding="utf-8"))
        # At 10 scans a second, a busy machine may pass over some; every answer must be good.
        answered = replay["answered"]
        self.assertEqual((replay["scans"], answered + replay["superseded"]), (SCANS, SCANS))
        self.assertGreaterEqual(answered, 10)
        self.assertEqual(replay["accepted"], answered)
        self.assertIn(f"{SCANS} scans, {answered} answered, {answered} accepted", done.stdout)
        self.assertEqual((replay["guess"], replay["rate_hz"]), ("odometry", 10))
        self.assertLess(replay["translation_error_m"]["max"], 0.05)
        self.assertGreaterEqual(replay["fused"]["poses"], 10)
        self.assertLess(replay["fused"]["translation_error_m"]["max"], 0.05)
        self.assertLess(replay["rotation_error_deg"]["max"], 0.2)
        for row in (row for row in replay["results"] if row["answered"]):
            self.assertEqual(len(row["pose"]), 7)
            self.assertTrue(all(math.isfinite(value) for value in row["pose"]))

        report = pathlib.Path(self.out, "report.html").read_text(encoding="utf-8")
        start = report.index(">", report.index('id="voxloc-data"')) + 1
        data = json.loads(report[start:report.index("</script>", start)])
        self.assertEqual(len(data["replay"]["results"]), SCANS)
        self.assertGreater(data["picture"]["cells"], 1000)

        # The server was asked to end, and did.
        log = pathlib.Path(self.out, "server.log").read_text(encoding="utf-8")
        self.assertIn("stopped", log.splitlines()[-1])

    def test_refuses_wrong_usage(self):
        for arguments, code, words in (
                (["--nonsense"], 2, "unknown argument: --nonsense"),
                (["--size"], 2, "--size needs a value"),
                (["--size", "100", "--data", self.out], 2, "exclude --data"),
                (["--no-build", "--build", "/nonexistent"], 1, "there is no /nonexistent/bin"),
                (["--no-build", "--build", self.build, "--data", "/nonexistent"], 1,
                 "no directory /nonexistent")):
            with self.subTest(arguments):
                done = demo(*arguments)
                self.assertEqual(done.returncode, code)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    Demo.out = sys.argv.pop()
    Demo.build = sys.argv.pop()
    unittest.main(verbosity=2)
