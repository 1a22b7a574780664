#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/bench-libraries without small_gicp: its clock, and what is made of the figures:
bench_libraries_test.py SOURCE_DIR."""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(sys.argv.pop(1)) / "scripts/bench-libraries"
sys.path.insert(0, str(SCRIPT.parent))
loader = importlib.machinery.SourceFileLoader("bench_libraries", str(SCRIPT))
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_libraries", loader))
loader.exec_module(script)

# Reads a map, guesses and two scans, as the programs do.
PROGRAM = """import sys
import numpy
# a comment

for file in sys.argv[1:]:
    print(numpy.load(file))
"""


class BenchLibrariesTest(unittest.TestCase):
    def test_a_row_has_the_times_between_the_files(self):
        # Map read from 0 to 1, loaded until 3; guesses until 4; a scan read until 5, aligned until 5.1;
        # another read until 6, aligned until 6.3, the end.
        times = [0.0, 1.0, 3.0, 4.0, 4.0, 5.0, 5.1, 6.0, 6.3]
        lines = script.lines_of(script.PROGRAMS["voxloc"])
        self.assertEqual(
            script.row_of("voxloc", [{"times": times, "peak_kib": 102400}], [0.01, 0.03, 2.0]),
            f"| voxloc | {lines} | 2.00 s | 300.0 ms | 300.0 ms | 100 MiB | 2 of 3 | 30, 30 mm |")
        self.assertIn("| 0 of 1 |  |", script.row_of("voxloc", [{"times": times, "peak_kib": 0}], [2.0]))

    def test_errors_are_distances_from_the_truth(self):
        pose = [[1.0, 0.0, 0.0, 3.0], [0.0, 1.0, 0.0, 4.0], [0.0, 0.0, 1.0, 5.0], [0.0, 0.0, 0.0, 1.0]]
        true = [[*row[:3], 5.0] for row in pose]
        self.assertAlmostEqual(script.errors_of(json.dumps(pose) + "\n", [true])[0], 5.0 ** 0.5)
        with self.assertRaises(ValueError):
            script.errors_of("", [true])

    def test_the_clock_sees_every_file(self):
        if subprocess.run([script.PYTHON, "-c", "import numpy"], capture_output=True, check=False).returncode:
            self.skipTest("python3-numpy is not installed")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
            self.assertEqual(script.lines_of(folder / "program.py"), 4)
            subprocess.run([script.PYTHON, "-c", f"import numpy; numpy.save('{folder}/a.npy', [7])"], check=True)
            done = subprocess.run([script.PYTHON, "-c", script.CLOCK, folder / "times.json", folder / "program.py",
                                   *[folder / "a.npy"] * 4], check=True, stdout=subprocess.PIPE, text=True)
            self.assertEqual(done.stdout, "[7]\n" * 4)
            measured = json.loads((folder / "times.json").read_text(encoding="utf-8"))
            self.assertEqual(len(measured["times"]), 9)
            self.assertEqual(measured["times"], sorted(measured["times"]))
            self.assertGreater(measured["peak_kib"], 1000)


if __name__ == "__main__":
    unittest.main()
