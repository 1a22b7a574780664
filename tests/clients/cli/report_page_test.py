#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report of a replay, opened in headless Chromium: report_page_test.py REPORT.

REPORT is what `voxloc replay --report` wrote. Most tests open it with other data in the place of
its own. Exits with 77 where there is no Chromium with its driver.
"""

import copy
import json
import math
import os
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support" / "python"))
import webdriver  # noqa: E402

SKIPPED = 77
DATA = re.compile(r'(<script id="voxloc-data" type="application/json">)(.*?)(</script>)', re.S)
STATISTICS = ("mean", "p50", "p95", "p99", "max")
DASH = "\u2013"

# A canvas of the map, copied: reading the page's own again and again makes the browser log advice.
COPY = """
const original = document.querySelectorAll("#map canvas")[arguments[0]];
const canvas = document.createElement("canvas");
canvas.width = original.width;
canvas.height = original.height;
const pen = canvas.getContext("2d", { willReadFrequently: true });
pen.drawImage(original, 0, 0);
const pixels = pen.getImageData(0, 0, canvas.width, canvas.height).data;
"""
# Counts and places of the pixels that a canvas of the map has in a colour of the style sheet.
PIXELS = COPY + """
const name = arguments[1];
const probe = document.createElement("canvas").getContext("2d");
probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
probe.fillRect(0, 0, 1, 1);
const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
let count = 0, x = 0, y = 0;
for (let i = 0; i < pixels.length; i += 4) {
  if (pixels[i] !== r || pixels[i + 1] !== g || pixels[i + 2] !== b || pixels[i + 3] !== 255) continue;
  count += 1;
  x += (i / 4) % canvas.width + 0.5;
  y += Math.floor(i / 4 / canvas.width) + 0.5;
}
return { count, x: x / count, y: y / count };
"""
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


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.html = pathlib.Path(cls.report).read_text(encoding="utf-8")
        cls.data = json.loads(DATA.search(cls.html).group(2))
        keep_accepted(cls.data)
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
        self.assertEqual(self.browser.console(), [], "the page logged something")

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
        self.browser.settle()
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
        self.browser.settle()
        self.assertIn("tracked on map", self.texts("#headline")[0])
        self.assertGreater(self.browser.run(DRAWN, 0), 1000)

    def test_headline_and_tiles_have_the_figures(self):
        replay = self.open()["replay"]
        self.assertIn(f"Every scan tracked on map {replay['map']}", self.texts("#headline")[0])
        self.assertIn(f"{replay['scans']} scans over", self.texts("#subline")[0])
        values = self.texts("#tiles .value")
        self.assertEqual(values[0], f"{replay['accepted']}of {replay['answered']}")
        self.assertEqual(values[2], f"{replay['rotation_error_deg']['p50']:.3f}\u00b0")
        self.assertEqual(len(values), 5)
        self.assertNotIn("NaN", self.browser.run("return document.body.innerText;"))

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

    def test_wheel_zooms_about_the_pointer(self):
        self.open()
        box = self.box("#map")
        before = self.start_of_drive()
        at = (round(box["width"] * 0.4), round(box["height"] * 0.6))
        self.browser.wheel(box["x"] + at[0], box["y"] + at[1], 300)
        factor = math.exp(-0.0016 * 300)
        # The window's pixels are whole, the box's place need not be.
        self.assert_near(self.start_of_drive(),
                         [at[i] + factor * (before[i] - at[i]) for i in (0, 1)], pixels=2)

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
            browser.settle()
            self.assertTrue(any("missing" in entry["message"] for entry in browser.console()))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: report_page_test.py REPORT")
    if webdriver.find_browser() is None:
        print("no Chromium with chromedriver: scripts/install-dependencies --ci")
        sys.exit(SKIPPED)
    ReportPage.report = os.path.abspath(sys.argv.pop())
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
