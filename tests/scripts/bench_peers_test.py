#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/bench-peers without the peers: how sources are brought, and what is made of the figures:
bench_peers_test.py SOURCE_DIR."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(sys.argv.pop(1)) / "scripts/bench-peers"
sys.path.insert(0, str(SCRIPT.parent))


def load():
    loader = importlib.machinery.SourceFileLoader("bench_peers", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_peers", loader))
    loader.exec_module(module)
    return module


def row(name, threads, prepare_ms, align_ms):
    return {
        "name": name,
        "threads": threads,
        "prepare_ms": {"p50": prepare_ms},
        "align_ms": {"p50": align_ms, "p95": 2 * align_ms},
        "iterations": 8.94,
        "translation_error_m": {"p50": 0.0321, "max": 0.0551},
    }


RESULT = {"rows": [row("voxloc autoware", 1, 0.0, 0.46), row("another", 2, 1.25, 8.75)]}


class BenchPeersTest(unittest.TestCase):
    def setUp(self):
        self.script = load()

    def test_the_table_has_a_line_for_each_row(self):
        self.assertEqual(self.script.table(RESULT).splitlines()[2:], [
            "| voxloc autoware | 1 |  | 0.46 ms | 0.92 ms | 8.9 | 32, 55 mm |",
            "| another | 2 | 1.25 ms | 8.75 ms | 17.50 ms | 8.9 | 32, 55 mm |"])

    def test_bars_are_on_a_logarithmic_scale_of_preparation_and_alignment(self):
        drawing = xml.dom.minidom.parseString(self.script.plot(RESULT))
        bars = drawing.getElementsByTagName("rect")[1:]  # the first is the background
        self.assertEqual(len(bars), 2)
        # The second row takes 10 ms in all: two of the three steps from 0.1 to 100 ms.
        self.assertAlmostEqual(float(bars[1].getAttribute("width")), 2.0 / 3.0 * 510.0, delta=0.1)
        words = [text.firstChild.data for text in drawing.getElementsByTagName("text")]
        self.assertIn("voxloc autoware, 1 thread", words)
        self.assertIn("another, 2 threads", words)
        self.assertIn("10.00", words)

    def test_brings_the_folders_of_one_commit(self):
        with tempfile.TemporaryDirectory() as folder:
            origin = pathlib.Path(folder) / "origin"
            git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(origin)]
            subprocess.run(["git", "init", "--quiet", str(origin)], check=True)
            for name in ("wanted", "other"):
                (origin / name).mkdir()
                (origin / name / "file").write_text(name)
            subprocess.run([*git, "add", "."], check=True)
            subprocess.run([*git, "commit", "--quiet", "-m", "one"], check=True)
            commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True,
                                    text=True).stdout.strip()
            self.script.PEERS["small_gicp"] = (str(origin), commit, ["wanted"])
            brought = pathlib.Path(folder) / "brought"
            self.script.bring("small_gicp", brought)
            self.assertTrue((brought / "wanted/file").exists())
            self.assertFalse((brought / "other").exists())
            (brought / "wanted/file").write_text("kept")
            self.script.bring("small_gicp", brought)
            self.assertEqual((brought / "wanted/file").read_text(), "kept")

    def test_says_what_cannot_be_fetched_and_leaves_no_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            self.script.PEERS["small_gicp"] = (folder + "/missing", "0" * 40, ["wanted"])
            brought = pathlib.Path(folder) / "brought"
            with self.assertRaisesRegex(self.script.Unavailable, "--sources"):
                self.script.bring("small_gicp", brought)
            self.assertFalse(brought.exists())

    def test_says_which_flags_are_missing(self):
        done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--map", done.stderr)


if __name__ == "__main__":
    unittest.main()
