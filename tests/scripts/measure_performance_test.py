#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/measure-performance without measuring: the tables that it makes of what was measured:
measure_performance_test.py SOURCE_DIR."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest
from xml.etree import ElementTree

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(sys.argv.pop(1)) / "scripts/measure-performance"


def load():
    loader = importlib.machinery.SourceFileLoader("measure_performance", str(SCRIPT))
    spec = importlib.util.spec_from_loader("measure_performance", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def times(p50, p99, items_per_call=1.0):
    return {"ms": {"p50": p50, "p99": p99}, "items_per_call": items_per_call,
            "items_per_s": items_per_call * 1e3 / p50}


ENGINE = {
    "engines": {"cuda": "a GPU", "cpu, 1 thread": "a processor"},
    "floors": [{"name": "upload", "ms": {"p50": 0.0078, "p99": 0.5}, "gb_per_s": 55.5}],
    "rows": [{"name": "one scan", "cuda": times(0.104, 0.118), "cpu, 1 thread": times(1.36, 2.0)},
             {"name": "batch of 64", "cuda": times(0.32, 0.35, 64),
              "cpu, 1 thread": times(63.8, 70, 64)}],
}
SERVICE = {"profile": "precise", "estimates": "pose only", "streams": 8, "rate_per_s": 5697.2,
           "sent": 9, "answered": 9, "accepted": 9, "lost": 0,
           "latency_ms": {"p50": 1.45, "p99": 1.99},
           "batch_size": {"mean": 3.1}, "overhead_ms": {"p50": 0.2}, "queue_wait_ms": {"p50": 0.1},
           "prepare_ms": {"p50": 0.06}, "align_ms": {"p50": 0.23}, "estimate_ms": {"p50": 0.03}}


class MeasurePerformanceTest(unittest.TestCase):
    def setUp(self):
        self.script = load()

    def test_an_engine_has_a_line_for_each_lower_bound_and_row(self):
        lines = self.script.engine_tables(ENGINE).splitlines()
        self.assertEqual(lines[2], "| upload | 7.8 us | 500 us | 56 GB/s |")
        self.assertEqual(lines[-2:], ["| one scan | 104 us | 118 us |  | 1.36 ms |",
                                      "| batch of 64 | 320 us | 350 us | 200k/s | 64 ms |"])

    def test_the_engine_that_is_measured_comes_first_whatever_its_name(self):
        row = {"name": "one scan", "cpu": times(1.36, 2.0), "cpu, all threads": times(0.7, 0.8)}
        result = {"engines": {"cpu, all threads": "a processor", "cpu": "a processor"},
                  "rows": [row]}
        self.assertEqual(self.script.engine_tables(result).splitlines()[-1],
                         "| one scan | 1.36 ms | 2.00 ms |  | 700 us |")

    def test_the_plot_has_a_line_for_each_engine_and_profile(self):
        rows = [{"name": f"one scan of {points} points", "cuda": times(ms, ms)}
                for points, ms in ((10000, 1.0), (1000, 0.1), (2000, 0.1), (1531, 9.0))]  # 1531: the first scan
        rows += [{"name": f"precise: batch of {scans}, in turn", "cuda": times(1, 1, scans)}
                 for scans in (10, 100)]
        rows.append({"name": "200 candidates within 5 m, any heading", "cuda": times(1, 1, 200)})
        drawing = ElementTree.fromstring(self.script.plot({**ENGINE, "rows": rows}))
        lines = list(drawing.iter("{http://www.w3.org/2000/svg}polyline"))
        self.assertEqual([line.get("points") for line in lines],
                         ["70.0,300.0 169.3,300.0 400.0,40.0", "500.0,300.0 830.0,40.0"])
        self.assertEqual([line.get("stroke-dasharray") for line in lines], [None, "5 3"])
        words = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
        self.assertLessEqual({"1,000", "10,000", "100 us", "1.00 ms", "10k/s", "100k/s", "cuda"},
                             set(words))

    def test_a_row_that_failed_is_an_error(self):
        result = {**ENGINE, "rows": [{"name": "one scan", "cuda": {"error": "out of memory"}}]}
        with self.assertRaisesRegex(SystemExit, "one scan.*out of memory"):
            self.script.engine_tables(result)

    def test_the_service_has_a_line_for_each_load(self):
        self.assertEqual(self.script.service_table([SERVICE]).splitlines()[-1],
                         "| `precise`, pose only | 8 | 5,697 | 1.45 | 1.99 | 3.1 "
                         "| 0.20 | 0.10 | 0.06 | 0.23 | 0.03 |")

    def test_scans_that_are_not_accepted_are_an_error(self):
        with self.assertRaisesRegex(SystemExit, "9 of 9 scans were answered and 8 accepted"):
            self.script.service_table([{**SERVICE, "accepted": 8}])


if __name__ == "__main__":
    unittest.main()
