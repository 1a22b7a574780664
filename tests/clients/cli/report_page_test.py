#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report of a replay, opened in headless Chromium: report_page_test.py REPORT.

REPORT is what `voxloc replay --report` wrote. Most tests open it with other data in the place of
its own. Exits with 77 where there is no Chromium with its driver.
"""

import base64
import copy
import json
import math
import os
import pathlib
import re
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support" / "python"))
import webdriver  # noqa: E402

DATA = re.compile(r'(<script id="voxloc-data" type="application/json">)(.*?)(</script>)', re.S)
STATISTICS = ("mean", "p50", "p95", "p99", "max")
DASH = "\u2013"

COPY = webdriver.canvas_copy('document.querySelectorAll("#map canvas")[arguments[0]]')
# Of a canvas of the map.
PIXELS = webdriver.pixels_of_colour('document.querySelectorAll("#map canvas")[arguments[0]]', "arguments[1]")
DRAWN = COPY + """
let count = 0;
for (let i = 3; i < pixels.length; i += 4) count += pixels[i] > 0;
return count;
"""
PICTURE = "return document.querySelectorAll('#map canvas')[arguments[0]].toDataURL();"
BOX = """
const element = document.querySelectorAll(arguments[0])[arguments[1] || 0];
element.scrollIntoView({ block: "center" });
const box = element.getBoundingClientRect();
return { x: box.x, y: box.y, width: box.width, height: box.height };
"""
# A wheel over a view, perhaps with a key: whether the view took it from the page, and the hint that it shows.
WHEEL = """
const [selector, x, y, deltaY, key] = arguments;
const box = document.querySelector(selector);
const corner = box.getBoundingClientRect();
const taken = !box.dispatchEvent(new WheelEvent("wheel", {
  deltaY, clientX: corner.left + x, clientY: corner.top + y, ctrlKey: key === "ctrlKey", metaKey: key === "metaKey",
  bubbles: true, cancelable: true }));
const hint = box.querySelector(".wheel-hint");
return [taken, hint.hidden ? null : hint.textContent];
"""
# How far the page is scrolled once it has moved, 0 after 5 s.
SCROLLED = """
return new Promise((done) => {
  const look = (left) => (window.scrollY > 0 || !left ? done(window.scrollY) : setTimeout(() => look(left - 1), 50));
  look(100);
});
"""
TEXTS = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent);"
TABLE = """
return [...document.querySelectorAll(arguments[0] + " tbody tr")].map(
  (line) => [...line.children].map((cell) => cell.textContent));
"""


def keep_accepted(data):
    """Without the scans that a busy machine passed over."""
    replay = data["replay"]
    rows = [row for row in replay["results"] if row["accepted"]]
    replay.update(results=rows, scans=len(rows), answered=len(rows), accepted=len(rows),
                  superseded=0, statuses={"OK": len(rows)})
    for index, row in enumerate(rows):
        row["index"] = index
    # Tests that look at points bring their own: drawing them takes time in software.
    data["views"]["scans"] = []


def drop_odometry(data):
    """As of a drive of scans alone; tests of odometry and filter bring their own."""
    data["replay"].pop("fused")
    for row in data["replay"]["results"]:
        row.pop("dead_reckoned")
        row.pop("fused")


def cut_short(data):
    """One scan only, as of `replay --max-scans 1`."""
    replay = data["replay"]
    replay["results"] = replay["results"][:1]
    replay["scans"] = replay["answered"] = replay["accepted"] = 1
    row = replay["results"][0]
    replay["statuses"] = {row["status"]: 1}
    for key in ("translation_error_m", "rotation_error_deg", "latency_ms", "engine_ms"):
        replay[key] = dict.fromkeys(STATISTICS, row[key])


def refuse(row, status):
    row.update(status=status, accepted=False, answered=status != "SUPERSEDED", pose=None,
               translation_error_m=None, rotation_error_deg=None, covariance=None, confidence=None)


def refuse_some(data):
    """Answers of three kinds without a pose among the others."""
    rows = data["replay"]["results"]
    for row, status in zip(rows[1:4], ("NO_MAP", "SUPERSEDED", "OUT_OF_MAP")):
        refuse(row, status)
    data["replay"].update(accepted=len(rows) - 3, answered=len(rows) - 1, statuses={
        "OK": len(rows) - 3, "NO_MAP": 1, "SUPERSEDED": 1, "OUT_OF_MAP": 1})


def refuse_all(data):
    """No scan has a pose: nothing to draw, and no statistic."""
    replay = data["replay"]
    for row in replay["results"]:
        refuse(row, "NO_MAP")
    replay.update(accepted=0, statuses={"NO_MAP": len(replay["results"])})
    for key in ("translation_error_m", "rotation_error_deg", "iterations", "nvtl", "points_used",
                "engine_ms", "overhead_ms"):
        replay[key] = dict.fromkeys(STATISTICS)
    data["picture"].update(cells=0, base64="")


def stop_time(data):
    """Stamps that do not rise: the axes count scans."""
    for row in data["replay"]["results"]:
        row["stamp_s"] = 5.0


# Of the canvas of the scan.
SCAN_PIXELS = webdriver.pixels_of_colour('document.querySelector("#scan canvas")', "arguments[0]", tolerance=1)
RUNS = """
return [...document.querySelectorAll("#ribbon .run")].map(
  (run) => [run.dataset.lane, Number(run.dataset.from), Number(run.dataset.to), run.style.fill]);
"""
# Quantile of chi-square with two degrees of freedom at 95 %: -2 ln(0.05).
ELLIPSE_SCALE = math.sqrt(-2 * math.log(0.05))


def covariance_of(long_m, short_m, angle):
    """xx, xy, xz, yy, yz, zz of an ellipse with these standard deviations along its axes."""
    c, s = math.cos(angle), math.sin(angle)
    a, b = long_m ** 2, short_m ** 2
    return [c * c * a + s * s * b, c * s * (a - b), 0, s * s * a + c * c * b, 0, 0.01]


def pack_points(points):
    """Points of a view: x, y, z in metres and a score."""
    return base64.b64encode(b"".join(
        struct.pack("<hhhB", *(round(value / 0.005) for value in point[:3]), round(50 * point[3]))
        for point in points)).decode()


def pack_cells(cells):
    """Cells of a view: a mean, and the square root of its covariance, both in metres."""
    return base64.b64encode(b"".join(
        struct.pack("<9h", *(round(value / 0.005) for value in mean),
                    *(round(value / 0.001) for value in root)) for mean, root in cells)).decode()


def show_one_scan(data, points, cells, scored=True):
    """A view of the first scan only; cells are relative to its origin."""
    origin = [round(value) for value in data["replay"]["results"][0]["pose"][:3]]
    data["views"].update(scores_missing="", cells_missing="", scans=[{
        "index": 0, "origin": origin,
        "points": {"count": len(points), "points_of": 5 * len(points), "scored": scored,
                   "base64": pack_points(points)},
        "cells": {"count": len(cells), "cells_of": len(cells), "base64": pack_cells(cells)}}])


def rotation_matrix(pose):
    x, y, z, w = pose[3:]
    return [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]


def placed(pose, point):
    matrix = rotation_matrix(pose)
    return [sum(matrix[i][k] * point[k] for k in range(3)) + pose[i] for i in range(3)]


def angle_between(a, b):
    """Degrees, by the trace of the rotation matrix between them."""
    left, right = rotation_matrix(a), rotation_matrix(b)
    trace = sum(left[i][k] * right[i][k] for i in range(3) for k in range(3))
    return math.degrees(math.acos(max(-1.0, min(1.0, (trace - 1) / 2))))


def statistics_of(values):
    """Mean, p50, p95 and largest; the smallest value that so many per cent do not exceed."""
    def percentile(percent):
        return min(value for value in values
                   if 100 * sum(other <= value for other in values) >= percent * len(values))
    return [sum(values) / len(values), percentile(50), percentile(95), max(values)]


def turned(pose, degrees):
    """The pose turned about the map's z axis."""
    half = math.radians(degrees) / 2
    x, y, z, w = pose[3:]
    c, s = math.cos(half), math.sin(half)
    return pose[:3] + [c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z]


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.html = pathlib.Path(cls.report).read_text(encoding="utf-8")
        cls.data = json.loads(DATA.search(cls.html).group(2))
        keep_accepted(cls.data)
        drop_odometry(cls.data)
        cls.folder = tempfile.TemporaryDirectory(prefix="voxloc_report_")
        cls.browser = webdriver.Browser(*webdriver.find_browser())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def setUp(self):
        self.rows = self.data["replay"]["results"]
        self.assertGreaterEqual(len(self.rows), 10, "too short a drive to test with")
        self.assertTrue(all(row["accepted"] for row in self.rows), "the drive was not tracked")
        self.browser.console()

    def tearDown(self):
        # Software that stands in for a GPU advises against showing what it draws.
        logged = [entry for entry in self.browser.console()
                  if "GPU stall due to ReadPixels" not in entry["message"]]
        self.assertEqual(logged, [], "the page logged something")

    def open(self, change=None):
        """Opens the report, perhaps with changed data, and returns its data."""
        data = copy.deepcopy(self.data)
        if change is not None:
            change(data)
        text = json.dumps(data).replace("</", "<\\/")
        path = os.path.join(self.folder.name, "report.html")
        pathlib.Path(path).write_text(
            DATA.sub(lambda found: found.group(1) + text + found.group(3), self.html),
            encoding="utf-8")
        self.browser.open(path)
        self.browser.wait_until_idle()
        return data

    def texts(self, selector):
        return self.browser.run(TEXTS, selector)

    def box(self, selector, index=0):
        return self.browser.run(BOX, selector, index)

    def start_of_drive(self):
        """Where the map shows the start: the middle of its disc, in pixels of the canvas."""
        disc = self.browser.run(PIXELS, 1, "--good")
        self.assertGreater(disc["count"], 20, "the start of the drive is not drawn")
        return disc["x"], disc["y"]

    def assert_near(self, got, want, pixels=1.5):
        self.assertLess(math.dist(got, want), pixels, f"{got} is not near {want}")

    # --- what is drawn ---

    def test_the_report_as_written_opens(self):
        self.browser.open(self.report)
        self.browser.wait_until_idle()
        self.assertIn("tracked on map", self.texts("#headline")[0])
        self.assertGreater(self.browser.run(DRAWN, 0), 1000)
        # The demo replays with odometry and a filter.
        legend = self.texts(".legend li:not([hidden])")
        self.assertIn("fused path", legend)
        self.assertIn("odometry alone", legend)
        self.assertGreater(self.browser.run(PIXELS, 1, "--fused")["count"], 100)
        self.assertIn("Fused position error along", self.texts("#charts h2"))

    def test_headline_and_tiles_have_the_figures(self):
        replay = self.open()["replay"]
        self.assertIn(f"Every scan tracked on map {replay['map']}", self.texts("#headline")[0])
        self.assertIn(f"{replay['scans']} scans over", self.texts("#subline")[0])
        values = self.texts("#tiles .value")
        self.assertEqual(values[0], f"{replay['accepted']}of {replay['answered']}")
        self.assertEqual(values[2], f"{replay['rotation_error_deg']['p50']:.3f}\u00b0")
        self.assertEqual(len(values), 5)
        self.assertNotIn("NaN", self.browser.run("return document.body.innerText;"))

    def test_tiles_say_how_many_accepted_poses_are_wrong(self):
        self.open(lambda data: data["replay"].update(accepted_wrong=2))
        self.assertIn("2 of them wrong by more than 1 m or 10\u00b0", "".join(self.texts("#tiles")))
        self.open()
        self.assertNotIn("of them wrong", "".join(self.texts("#tiles")))

    def test_header_says_when_of_which_map_and_with_what_the_run_was_made(self):
        def change(data):
            data["replay"].update(
                started_at="2026-03-04T05:06:07Z", server_version="1.2.2", client_version="1.2.3",
                map_revisions={"min": 3, "max": 5}, command_line="voxloc replay --map '<b>'",
                filter={"min_range_m": 1, "max_range_m": 0, "leaf_m": 1.5, "points": 1500, "seed": 0,
                        "record_floats": 0, "by_server": False})
        self.open(change)
        self.assertEqual(self.texts("#run"), [
            "2026-03-04 05:06:07 UTC \u00b7 map revisions 3 to 5 \u00b7 voxlocd 1.2.2 \u00b7 voxloc 1.2.3 \u00b7 "
            "scans filtered: --min-range 1 --leaf 1.5 --points 1500"])
        self.assertEqual(self.texts("#command-line"), ["voxloc replay --map '<b>'"])

        def change_less(data):
            change(data)
            data["replay"].update(map_revisions={"min": 3, "max": 3}, filter={
                **dict.fromkeys(data["replay"]["filter"], 0), "by_server": True})
        self.open(change_less)
        self.assertIn("map revision 3 \u00b7", self.texts("#run")[0])
        self.assertTrue(self.texts("#run")[0].endswith("scans not filtered"))

    def test_header_of_the_report_as_written_has_the_command(self):
        self.browser.open(self.report)
        self.browser.wait_until_idle()
        self.assertRegex(self.texts("#run")[0], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \u00b7 map revisions? \d+")
        self.assertRegex(self.texts("#command-line")[0], "^voxloc replay .*--report ")

    def test_map_shows_surroundings_and_paths(self):
        self.open()
        self.assertGreater(self.browser.run(DRAWN, 0), 1000, "no surroundings")
        self.assertGreater(self.browser.run(PIXELS, 1, "--estimate")["count"], 100, "no path")
        self.assertEqual(self.browser.run(PIXELS, 1, "--bad")["count"], 0)
        self.start_of_drive()

    def test_charts_draw_a_point_for_every_scan(self):
        self.open()
        self.assertEqual(self.texts("#charts h2"),
                         ["Position error", "Round trip", "Rotation error", "Score"])
        paths = self.browser.run("return [...document.querySelectorAll('#charts .series')].map("
                                 "(path) => path.getAttribute('d'));")
        self.assertEqual(len(paths), 5)
        for path in paths:
            points = re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path)
            self.assertEqual(len(points), len(self.rows))
            across = [float(x) for x, _ in points]
            self.assertEqual(across, sorted(across))
            for _, y in points:
                self.assertTrue(0 <= float(y) <= 200, f"{y} is outside the chart")
        self.assertGreater(len(self.texts("#charts text")), 20)

    def test_statistics_are_those_of_the_data(self):
        replay = self.open()["replay"]
        table = {line[0]: line[1:] for line in self.browser.run(TABLE, "#statistics")}
        self.assertEqual(table["Round trip, ms"],
                         [f"{replay['latency_ms'][key]:.2f}" for key in STATISTICS])
        self.assertEqual(table["NVTL"], [f"{replay['nvtl'][key]:.2f}" for key in STATISTICS])

    def test_needs_no_network(self):
        self.open()
        self.assertEqual(
            self.browser.run("return performance.getEntriesByType('resource').map((e) => e.name);"),
            [])

    # --- what it does ---

    def wheel(self, selector, at, delta_y, key=None):
        """Whether the view takes the wheel, and its hint; `at` is in pixels of the view."""
        seen = self.browser.run(WHEEL, selector, *at, delta_y, key)
        self.browser.wait_until_idle()
        return seen

    def test_wheel_with_ctrl_or_command_zooms_about_the_pointer(self):
        self.open()
        box = self.box("#map")
        before = self.start_of_drive()
        at = (round(box["width"] * 0.4), round(box["height"] * 0.6))
        # As much as a pinch more with ctrlKey.
        for key, exponent in (("ctrlKey", 0.0016 * 300 + 0.084), ("metaKey", 0.0016 * 300)):
            zoomed = [at[i] + math.exp(-exponent) * (before[i] - at[i]) for i in (0, 1)]
            self.assertEqual(self.wheel("#map", at, 300, key), [True, None])
            self.assert_near(self.start_of_drive(), zoomed)
            self.assertEqual(self.wheel("#map", at, -300, key), [True, None])
            self.assert_near(self.start_of_drive(), before)
        # A pinch comes as small steps with ctrlKey.
        self.assertEqual(self.wheel("#map", at, 10, "ctrlKey"), [True, None])
        self.assert_near(self.start_of_drive(),
                         [at[i] + math.exp(-0.01 * 10) * (before[i] - at[i]) for i in (0, 1)])

    def test_plain_wheel_scrolls_the_page_and_a_hint_says_how_to_zoom(self):
        self.open()
        box = self.box("#map")
        before = self.start_of_drive()
        self.browser.run("window.scrollTo(0, 0);")
        self.browser.wheel(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 200)
        self.assertGreater(self.browser.run(SCROLLED), 0, "the page was not scrolled")
        self.assert_near(self.start_of_drive(), before)
        middle = (box["width"] / 2, box["height"] / 2)
        self.assertEqual(self.wheel("#map", middle, 200), [False, "Use Ctrl + wheel to zoom"])
        self.assertEqual(self.wheel("#map", middle, 200, "ctrlKey"), [True, None])

    def test_plain_wheel_zooms_once_the_view_was_clicked_and_until_escape(self):
        def change(data):
            show_one_scan(data, [[10, 0, 0, 1.0]], [], scored=False)
        self.open(change)
        for selector in ("#map", "#scan"):
            box = self.box(selector)
            middle = (box["width"] / 2, box["height"] / 2)
            self.assertFalse(self.wheel(selector, middle, 200)[0], selector)
            self.browser.click(selector)
            picture = self.browser.run("return document.querySelector(arguments[0] + ' canvas').toDataURL();", selector)
            self.assertEqual(self.wheel(selector, middle, 200), [True, None], selector)
            self.assertNotEqual(
                self.browser.run("return document.querySelector(arguments[0] + ' canvas').toDataURL();", selector),
                picture, selector)
            self.browser.press("\ue00c")  # Escape
            self.assertFalse(self.wheel(selector, middle, 200)[0], selector)

    def test_buttons_zoom_about_the_middle_and_fit_restores(self):
        self.open()
        box = self.box("#map")
        middle = (box["width"] / 2, box["height"] / 2)
        before = self.start_of_drive()
        pictures = [self.browser.run(PICTURE, index) for index in (0, 1)]
        self.browser.click("#zoom-out")
        self.assert_near(self.start_of_drive(),
                         [middle[i] + (before[i] - middle[i]) / 1.6 for i in (0, 1)])
        self.assertNotEqual(self.browser.run(PICTURE, 0), pictures[0])
        self.browser.click("#zoom-in")
        self.assert_near(self.start_of_drive(), before)
        self.browser.click("#zoom-in")
        self.assertNotEqual(self.browser.run(PICTURE, 0), pictures[0])
        self.browser.click("#zoom-fit")
        self.assertEqual([self.browser.run(PICTURE, index) for index in (0, 1)], pictures)

    def test_dragging_moves_the_map(self):
        self.open()
        box = self.box("#map")
        before = self.start_of_drive()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        away = (20 if before[0] < box["width"] / 2 else -20, 15 if before[1] < box["height"] / 2 else -15)
        self.browser.drag(x, y, x + away[0], y + away[1])
        self.browser.move(1, 1)
        self.assert_near(self.start_of_drive(), (before[0] + away[0], before[1] + away[1]))

    def test_exaggerating_moves_the_estimated_path_only(self):
        self.open()
        pictures = [self.browser.run(PICTURE, index) for index in (0, 1)]
        start = self.start_of_drive()
        self.browser.click("#exaggerate button:nth-child(3)")
        self.assertEqual(self.browser.run(PICTURE, 0), pictures[0])
        self.assertNotEqual(self.browser.run(PICTURE, 1), pictures[1])
        self.assert_near(self.start_of_drive(), start, pixels=4)  # the path may cover a part of it
        self.browser.click("#exaggerate button:nth-child(1)")
        self.assertEqual(self.browser.run(PICTURE, 1), pictures[1])

    def test_pointing_at_a_chart_shows_the_scan_everywhere(self):
        self.open()
        chart = self.box("#charts svg")
        picture = self.browser.run(PICTURE, 1)
        self.browser.move(chart["x"] + chart["width"] / 2, chart["y"] + chart["height"] / 2)
        name = self.texts("#readout h3")
        self.assertEqual(len(name), 1)
        index = next(i for i, row in enumerate(self.rows) if name[0].startswith(row["file"]))
        self.assertTrue(0 < index < len(self.rows) - 1, f"scan {index} is not in the middle")
        self.assertEqual(len(self.texts("#charts .cursor")), 4)
        self.assertNotEqual(self.browser.run(PICTURE, 1), picture)
        values = dict(zip(self.texts("#readout dt"), self.texts("#readout dd")))
        self.assertEqual(values["round trip"], f"{self.rows[index]['latency_ms']:.2f} ms")

        cursor = "return document.querySelector('#charts .cursor').getAttribute('x1');"
        before = float(self.browser.run(cursor))
        self.browser.press("\ue014")  # the right arrow
        self.assertGreater(float(self.browser.run(cursor)), before)

    def test_scans_are_sorted_as_chosen(self):
        replay = self.open()["replay"]
        rows = replay["results"]
        labels = self.texts("#row-choice button")
        self.assertEqual(labels, ["largest errors", "slowest", f"all {len(rows)}"])
        by_error = sorted(rows, key=lambda row: -row["translation_error_m"])
        by_time = sorted(rows, key=lambda row: -row["latency_ms"])
        for choice, want in ((2, by_time[:10]), (1, by_error[:10]), (3, rows)):
            self.browser.click(f"#row-choice button:nth-child({choice})")
            shown = self.browser.run(TABLE, "#rows")
            self.assertEqual([line[0] for line in shown], [row["file"] for row in want],
                             labels[choice - 1])
            self.assertEqual([line[7] for line in shown],
                             [f"{row['latency_ms']:.2f}" for row in want])
            pressed = self.browser.run("return [...document.querySelectorAll("
                                       "'#row-choice [aria-pressed=true]')].map((b) => b.textContent);")
            self.assertEqual(pressed, [labels[choice - 1]])

    def test_theme_switches_and_back(self):
        self.open()
        picture = self.browser.run(PICTURE, 0)
        self.browser.click("#theme")
        self.assertEqual(
            self.browser.run("return document.documentElement.getAttribute('data-theme');"), "dark")
        self.assertNotEqual(self.browser.run(PICTURE, 0), picture)
        self.browser.click("#theme")
        self.assertEqual(self.browser.run(PICTURE, 0), picture)

    # --- other drives ---

    def test_scans_without_a_pose_are_marked_and_listed(self):
        data = self.open(refuse_some)
        rows = data["replay"]["results"]
        self.assertIn("% of scans tracked", self.texts("#headline")[0])
        self.assertEqual(self.texts("#row-choice button")[2], "not accepted (3)")
        self.browser.click("#row-choice button:nth-child(3)")
        shown = self.browser.run(TABLE, "#rows")
        self.assertEqual([line[1] for line in shown], ["NO_MAP", "SUPERSEDED", "OUT_OF_MAP"])
        for line in shown:
            self.assertEqual([line[i] for i in (3, 4, 5, 6, 8)], [DASH] * 5)
        self.assertEqual(len(self.texts("#rows tbody tr")), 3)
        self.assertEqual(len(rows), len(self.rows))

    def test_a_drive_without_any_pose_says_so(self):
        self.open(refuse_all)
        self.assertFalse(self.browser.run("return document.getElementById('map-empty').hidden;"))
        self.assertEqual(self.browser.run(DRAWN, 0), 0)
        self.assertEqual(self.texts("#tiles .value")[1].rstrip("m"), DASH)
        self.assertNotIn("NaN", self.browser.run("return document.body.innerText;"))

    def test_a_single_scan_is_drawn(self):
        self.open(cut_short)
        self.start_of_drive()
        self.assertEqual(len(self.browser.run(TABLE, "#rows")), 1)
        self.assertIn("1 scan over 0 m", self.texts("#subline")[0])
        self.assertNotIn("NaN", self.browser.run("return document.querySelector('main').innerHTML;"))
        times = [text for text in self.texts("#charts svg:first-of-type text") if " s" in text]
        ticks = times[:len(times) // 4]
        self.assertGreater(len(ticks), 1)
        self.assertEqual(len(set(ticks)), len(ticks), f"marks of the time axis repeat: {ticks}")

    def test_without_rising_stamps_the_axes_count_scans(self):
        self.open(stop_time)
        path = self.browser.run("return document.querySelector('#charts .series').getAttribute('d');")
        across = [float(x) for x in re.findall(r"[ML](-?[\d.]+) ", path)]
        self.assertEqual(len(across), len(self.rows))
        self.assertGreater(across[-1] - across[0], 100)

    # --- estimates ---

    def point_at_scan(self, index):
        """Points at a scan in the first chart, whose points are evenly spread."""
        chart = self.box("#charts svg")
        path = self.browser.run("return document.querySelector('#charts .series').getAttribute('d');")
        across = [float(x) for x in re.findall(r"[ML](-?[\d.]+) ", path)]
        self.browser.move(chart["x"] + across[index], chart["y"] + chart["height"] / 2)
        return dict(zip(self.texts("#readout dt"), self.texts("#readout dd")))

    def test_readout_has_the_ellipse_of_the_covariance(self):
        def change(data):
            for row in data["replay"]["results"]:
                row["position_covariance"] = covariance_of(0.2, 0.05, 0.7)
        self.open(change)
        shown = self.point_at_scan(2)["95 % ellipse"]
        radii = [float(text) for text in re.findall(r"[\d.]+", shown)]
        self.assertEqual(len(radii), 2)
        self.assertAlmostEqual(radii[0], 0.2 * ELLIPSE_SCALE, delta=0.001)
        self.assertAlmostEqual(radii[1], 0.05 * ELLIPSE_SCALE, delta=0.001)

    def test_says_what_sigma_is_made_of(self):
        def change(data):
            shares = {"scan": 0.003, "map_and_mounting": 0.04, "time": 0.2, "sweep": 0.1}
            data["replay"]["position_sigma_shares_m"] = {
                name: {"p50": sigma} for name, sigma in shares.items()}
            for row in data["replay"]["results"]:
                row["position_covariance"] = covariance_of(0.2, 0.05, 0.7)
                row["sigma_shares"] = {
                    name: [0.001, sigma, 0.002, 0, 0, 0] for name, sigma in shares.items()}
        self.open(change)
        self.assertEqual(self.point_at_scan(2)["sigma"],
                         "0.227 m along the base's y: scan 0.003, map and mounting 0.040, "
                         "time of the stamps 0.200, motion in the sweep 0.100")
        self.assertIn("the largest share of sigma is the time of the stamps, 0.200 m in the median",
                      "".join(self.texts("#bounds-note")))

    def test_ellipse_is_drawn_to_scale_and_turned_off(self):
        def change(data):
            for row in data["replay"]["results"]:
                row["position_covariance"] = None
            data["replay"]["results"][0]["position_covariance"] = covariance_of(2.0, 1.0, 0.5)
        rows = self.open(change)["replay"]["results"]
        box = self.box("#map")
        extent = [max(row["truth"][axis] for row in rows) - min(row["truth"][axis] for row in rows)
                  for axis in (0, 1)]
        margin = max(14, 0.07 * max(extent))
        scale = min(box["width"] / (extent[0] + 2 * margin), box["height"] / (extent[1] + 2 * margin))
        with_ellipse = self.browser.run(DRAWN, 1)
        self.browser.click("#ellipses button:nth-child(2)")
        without = self.browser.run(DRAWN, 1)
        area = math.pi * 2.0 * 1.0 * (ELLIPSE_SCALE * scale) ** 2
        self.assertGreater(with_ellipse - without, 0.4 * area, "paths cover a part of the ellipse")
        self.assertLess(with_ellipse - without, 1.1 * area)

    def test_ribbon_has_the_axes_that_are_not_observed(self):
        def change(data):
            for index, row in enumerate(data["replay"]["results"]):
                row["unobserved_axes"] = ["x", "rz"] if 3 <= index < 6 else []
                row["weak_axes"] = ["y"] if index == 4 else []
                row["status"] = "OK"
                row["least_observed"] = [0.6, 0.8, 0, 0, 0, 0] if 3 <= index < 6 else None
        self.open(change)
        runs = self.browser.run(RUNS)
        self.assertEqual([run[:3] for run in runs if run[0] != "verdict"],
                         [["x", 3, 6], ["y", 4, 5], ["rz", 3, 6]])
        self.assertEqual({run[3] for run in runs if run[0] == "x"}, {"var(--bad)"})
        self.assertEqual({run[3] for run in runs if run[0] == "y"}, {"var(--warn)"})
        self.assertEqual([run[1:3] for run in runs if run[0] == "verdict"], [[0, len(self.rows)]])
        self.assertIn(f"OK ({len(self.rows)})", self.texts("#ribbon li"))
        self.assertGreater(self.browser.run(PIXELS, 1, "--bad")["count"], 10, "no direction is drawn")
        self.assertEqual(self.point_at_scan(4)["not observed"], "x rz")

    def test_ribbon_shows_verdicts_where_they_change(self):
        def change(data):
            for row in data["replay"]["results"]:
                row["status"] = "OK"
            refuse_some(data)
        self.open(change)
        verdicts = [run for run in self.browser.run(RUNS) if run[0] == "verdict"]
        self.assertEqual([run[1:] for run in verdicts],
                         [[0, 1, "var(--good)"], [1, 2, "var(--bad)"], [2, 3, "var(--none)"],
                          [3, 4, "var(--bad)"], [4, len(self.rows), "var(--good)"]])

    def test_protection_levels_are_drawn_and_counted(self):
        def change(data):
            for index, row in enumerate(data["replay"]["results"]):
                row["position_covariance"] = covariance_of(0.2, 0.1, 0.3)
                row["protection"] = {
                    "horizontal_m": None if index == 5 else 1e-6 if index in (2, 3) else 50.0,
                    "vertical_m": 50.0, "risk": 1e-7, "fault_detected": False,
                    "excluded_points": 0, "pose": row["pose"]}
        data = self.open(change)
        self.assertEqual(self.texts("#bounds h2"),
                         ["Horizontal error and its bounds", "Vertical error and its bounds"])
        note = self.texts("#bounds-note")[0]
        self.assertIn(f"protection level: 2 horizontal and 0 vertical of {len(self.rows)}", note)
        inside = 0
        for row in data["replay"]["results"]:
            # Along the axes of the ellipse.
            dx, dy = (row["pose"][axis] - row["truth"][axis] for axis in (0, 1))
            along, across = (dx * math.cos(0.3) + dy * math.sin(0.3),
                             dy * math.cos(0.3) - dx * math.sin(0.3))
            inside += math.hypot(along / 0.2, across / 0.1) <= ELLIPSE_SCALE
        self.assertIn(f"in {inside} of {len(self.rows)} scans", note)
        level = self.browser.run("return document.querySelectorAll('#bounds .series')[2].getAttribute('d');")
        self.assertEqual(level.count("M"), 2, "a scan without a bound interrupts the line")
        self.assertIn("no bound", self.point_at_scan(5)["protection level"])

    def test_without_estimates_there_are_no_bounds(self):
        def change(data):
            for row in data["replay"]["results"]:
                row.update(position_covariance=None, protection=None)
        self.open(change)
        self.assertEqual(self.texts("#bounds h2"), [])
        self.assertNotIn("95 % ellipse", self.point_at_scan(1))

    # --- points of one scan ---

    def test_the_report_as_written_shows_points_over_cells(self):
        self.browser.open(self.report)
        self.browser.wait_until_idle()
        self.browser.run("document.getElementById('scan').scrollIntoView();")
        self.browser.wait_until_idle()
        choices = self.texts("#scan-select option")
        self.assertTrue(1 <= len(choices) <= 6, choices)
        note = self.texts("#scan-note")[0]
        found = re.match(r"(\d+) of (\d+) points . (\d+) of (\d+) cells of ([\d.]+) m within 40 m . "
                         r"scores at the result", note)
        self.assertTrue(found, note)
        self.assertGreater(int(found.group(1)), 500)
        self.assertGreater(int(found.group(3)), 100)
        background = self.browser.run(SCAN_PIXELS, "--card")
        size = background["width"] * background["height"]
        self.assertLess(background["count"], 0.97 * size, "nothing is drawn")
        self.assertGreater(background["count"], 0.05 * size)

    def test_points_are_drawn_where_the_poses_put_them(self):
        point = [10.0, 5.0, 0.5]

        def change(data):
            row = data["replay"]["results"][0]
            row["guess"] = [row["pose"][0] + 3.0, row["pose"][1] - 2.0, *row["pose"][2:]]
            show_one_scan(data, [point + [1.0]], [], scored=False)
        row = self.open(change)["replay"]["results"][0]
        self.browser.click("#scan-turn button:nth-child(2)")
        for button, key in ((1, "pose"), (2, "guess"), (3, "truth")):
            self.browser.click(f"#scan-pose button:nth-child({button})")
            seen = self.browser.run(SCAN_PIXELS, "--estimate")
            self.assertGreater(seen["count"], 3, key)
            scale = min(seen["width"], seen["height"]) / 70
            at = placed(row[key], point)
            want = (seen["width"] / 2 + scale * (at[0] - row["pose"][0]),
                    seen["height"] / 2 - scale * (at[1] - row["pose"][1]))
            self.assert_near((seen["x"], seen["y"]), want)
        self.assertIn("1 of 5 points", self.texts("#scan-note")[0])

    def test_points_without_a_cell_stand_out(self):
        def change(data):
            show_one_scan(data, [[10, 0, 0, 0.0], [-10, 0, 0, 3.0]], [])
        self.open(change)
        self.assertGreater(self.browser.run(SCAN_PIXELS, "--bad")["count"], 3)
        self.assertGreater(self.browser.run(SCAN_PIXELS, "--second")["count"], 3)
        self.assertIn("green (3.00)", self.texts("#scan-note")[0])

    def test_cells_are_drawn_to_scale_and_turned_off(self):
        def change(data):
            # Axes of 4, 2 and 1 m along x, y and z.
            show_one_scan(data, [[0, 0, 0, 1.0]], [[[5, 5, 0], [4, 0, 0, 2, 0, 1]]])
        self.open(change)
        self.browser.click("#scan-turn button:nth-child(2)")
        background = self.browser.run(SCAN_PIXELS, "--card")
        covered = background["width"] * background["height"] - background["count"]
        scale = min(background["width"], background["height"]) / 70
        area = math.pi * 4 * 2 * scale ** 2
        # Triangles lie inside the ellipsoid.
        self.assertTrue(0.75 * area < covered < 1.05 * area + 30, f"{covered} is not about {area}")
        self.browser.click("#scan-cells button:nth-child(2)")
        background = self.browser.run(SCAN_PIXELS, "--card")
        self.assertLess(background["width"] * background["height"] - background["count"], 30)

    def test_scan_is_turned_moved_and_zoomed(self):
        def change(data):
            show_one_scan(data, [[10, 0, 0, 1.0]], [], scored=False)
        self.open(change)
        self.browser.click("#scan-turn button:nth-child(2)")
        before = self.browser.run(SCAN_PIXELS, "--estimate")
        box = self.box("#scan")
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.wheel("#scan", (box["width"] / 2, box["height"] / 2), -300, "metaKey")
        factor = math.exp(0.0016 * 300)
        seen = self.browser.run(SCAN_PIXELS, "--estimate")
        centre = (seen["width"] / 2, seen["height"] / 2)
        want = [centre[i] + factor * ((before["x"], before["y"])[i] - centre[i]) for i in (0, 1)]
        self.assert_near((seen["x"], seen["y"]), want)
        # A quarter turn about the vertical.
        pixels = round(math.pi / 2 / 0.006)
        self.browser.drag(*middle, middle[0] + pixels, middle[1])
        turned_to = self.browser.run(SCAN_PIXELS, "--estimate")
        away = [want[i] - centre[i] for i in (0, 1)]
        self.assert_near((turned_to["x"], turned_to["y"]), (centre[0] + away[1], centre[1] - away[0]),
                         pixels=4)

    def test_what_the_server_refused_is_said(self):
        def change(data):
            show_one_scan(data, [[10, 0, 0, 0.0]], [], scored=False)
            data["views"].update(cells_missing="no <b>map_read</b>", scores_missing="no score")
        self.open(change)
        note = self.texts("#scan-note")[0]
        self.assertIn("no cells: no <b>map_read</b>", note)
        self.assertIn("no scores: no score", note)
        self.assertGreater(self.browser.run(SCAN_PIXELS, "--estimate")["count"], 3)

    # --- two runs ---

    def compare(self, data):
        """Another run: moved, turned, slower, without the last scan, and two that were refused."""
        others = []
        for index, row in enumerate(data["replay"]["results"]):
            other = copy.deepcopy(row)
            moved = [row["pose"][i] + 0.013 * math.sin(index + 2 * i) for i in range(3)]
            other["pose"] = turned(moved + row["pose"][3:], 0.4 * math.cos(index))
            other["translation_error_m"] = math.dist(other["pose"][:3], row["truth"][:3])
            other["rotation_error_deg"] = angle_between(other["pose"], row["truth"])
            other["latency_ms"] = row["latency_ms"] + 0.5 + index % 4
            other["scores"]["nvtl"] = row["scores"]["nvtl"] - 0.01 * (index % 5)
            others.append(other)
        refuse(others[1], "LOW_SCORE")
        refuse(others[4], "OUT_OF_MAP")
        others[-1] = None
        data["compared"] = {"name": "other <i>run</i>.json", "unmatched": 0, "map": "town",
                            "profile": "autoware", "engine": "cpu", "guess": "truth",
                            "server_version": "1", "results": others}

    def test_differences_of_two_runs_are_right(self):
        data = self.open(self.compare)
        rows, others = data["replay"]["results"], data["compared"]["results"]
        pairs = [(row, other) for row, other in zip(rows, others) if other and other["pose"]]
        self.assertEqual(len(pairs), len(rows) - 3)
        self.assertEqual(self.texts("#comparison-title"), ["Compared with other <i>run</i>.json"])
        self.assertIn(f"{len(rows) - 1} of {len(rows)} scans are in both runs, {len(pairs)} with a pose "
                      f"in both. Accepted: {len(rows) - 3} in both, 2 only here, 0 only there, 0 in "
                      "neither.", self.texts("#comparison-counts")[0])
        table = [line[0:1] + [float(cell) for cell in line[1:]]
                 for line in self.browser.run(TABLE, "#comparison-table")]
        names = [line[0] for line in table]
        unit = re.fullmatch(r"Position error, (m|cm|mm)", names[0]).group(1)
        factor = {"m": 1, "cm": 100, "mm": 1000}[unit]

        def metric(value):
            return [[value(row) for row, _ in pairs], [value(other) for _, other in pairs],
                    [value(row) - value(other) for row, other in pairs]]
        answered = [(row, other) for row, other in zip(rows, others) if other and other["answered"]]
        want = metric(lambda row: factor * row["translation_error_m"])
        want += metric(lambda row: row["rotation_error_deg"])
        want += metric(lambda row: row["scores"]["nvtl"])
        want += [[row["latency_ms"] for row, _ in answered],
                 [other["latency_ms"] for _, other in answered],
                 [row["latency_ms"] - other["latency_ms"] for row, other in answered]]
        want.append([factor * math.dist(row["pose"][:3], other["pose"][:3]) for row, other in pairs])
        want.append([angle_between(row["pose"], other["pose"]) for row, other in pairs])
        self.assertEqual(len(table), len(want))
        for line, values in zip(table, want):
            for got, expected in zip(line[1:], statistics_of(values)):
                self.assertAlmostEqual(got, expected, delta=0.0051, msg=line[0])

    def test_both_runs_are_drawn(self):
        self.open(self.compare)
        self.browser.click("#exaggerate button:nth-child(3)")
        self.assertGreater(self.browser.run(PIXELS, 1, "--other")["count"], 5, "no other path")
        self.assertEqual(len(self.browser.run(
            "return [...document.querySelectorAll('#charts .series')].map((p) => 1);")), 8)
        self.assertIn("of the other run", self.point_at_scan(2))

    def test_one_run_alone_is_not_compared(self):
        self.open()
        self.assertTrue(self.browser.run("return document.getElementById('comparison').hidden;"))
        self.assertNotIn("other run", " ".join(self.texts(".legend li:not([hidden])")))

    def test_the_path_of_the_odometry_is_drawn_where_there_is_one(self):
        self.open()
        self.assertNotIn("odometry", " ".join(self.texts(".legend li:not([hidden])")))
        self.assertLess(self.browser.run(PIXELS, 1, "--second")["count"], 5)

        def change(data):
            for row in data["replay"]["results"]:
                row["dead_reckoned"] = [row["truth"][0] + 5.0, row["truth"][1] + 5.0]
        self.open(change)
        self.assertIn("odometry alone", self.texts(".legend li:not([hidden])"))
        self.assertGreater(self.browser.run(PIXELS, 1, "--second")["count"], 50)

    def test_the_path_of_the_filter_is_drawn_where_there_is_one(self):
        self.open()
        self.assertNotIn("fused path", self.texts(".legend li:not([hidden])"))
        self.assertLess(self.browser.run(PIXELS, 1, "--fused")["count"], 5)

        def change(data):
            replay = data["replay"]
            for row in replay["results"]:
                pose = [row["truth"][0] + 0.05] + row["truth"][1:]
                row["fused"] = {"pose": pose, "translation_error_m": 0.05, "rotation_error_deg": 0.0,
                                "error_m": {"along": -0.05, "across": 0.0, "up": 0.0},
                                "sigma_m": {"along": 0.1, "across": 0.1, "up": 0.1}}
            statistics = {key: 0.05 for key in ("mean", "p50", "p95", "p99", "max")}
            replay["fused"] = {"translation_error_m": statistics, "rotation_error_deg": statistics,
                               "error_m": {axis: statistics for axis in ("along", "across", "up")}}
        self.open(change)
        self.assertIn("fused path", self.texts(".legend li:not([hidden])"))
        self.browser.click("#exaggerate button:nth-child(2)")
        self.assertGreater(self.browser.run(PIXELS, 1, "--fused")["count"], 50)
        self.assertEqual(self.browser.run(
            "return document.querySelectorAll('#charts .series').length;"), 5 + 2 + 4)
        self.assertIn("fused position error", self.point_at_scan(2))
        table = self.browser.run(TABLE, "#statistics")
        unit, factor = next((name[len("Fused position error, "):], cells[0]) for name, *cells in table
                            if name.startswith("Fused position error, "))
        self.assertAlmostEqual(float(factor), 0.05 * {"m": 1, "cm": 100, "mm": 1000}[unit])

    def test_thinning_is_said(self):
        def change(data):
            data["row_step"] = 7
        self.open(change)
        self.assertIn("one of every 7", self.texts("#subline")[0])

    def test_narrow_windows_keep_the_page_in_the_window(self):
        self.open()
        # Headless windows have a smallest width; a frame has none.
        width = self.browser.run("""
          const frame = document.createElement("iframe");
          frame.style.cssText = "width: 390px; height: 800px;";
          frame.srcdoc = document.documentElement.outerHTML;
          document.body.replaceChildren(frame);
          return new Promise((done) => frame.addEventListener("load", () =>
            done(frame.contentDocument.documentElement.scrollWidth)));""")
        self.assertLessEqual(width, 390)


class ErrorsAreSeen(unittest.TestCase):
    """A page with a fault must be noticed, else the tests above show nothing."""

    def test_uncaught_error_is_in_the_console(self):
        with tempfile.TemporaryDirectory() as folder, \
                webdriver.Browser(*webdriver.find_browser()) as browser:
            path = pathlib.Path(folder, "bad.html")
            path.write_text("<script>setTimeout(() => missing(), 0);</script>", encoding="utf-8")
            browser.open(path)
            browser.wait_until_idle()
            self.assertTrue(any("missing" in entry["message"] for entry in browser.console()))


if __name__ == "__main__":
    ReportPage.report = webdriver.path_for_tests("report_page_test.py", "REPORT")
    unittest.main(verbosity=2)
