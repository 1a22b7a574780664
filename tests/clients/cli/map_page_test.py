#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a map in headless Chromium: map_page_test.py PROGRAMS_DIR.

`voxloc map view` and `voxloc map diff --html` write the pages of files that the test makes; what only
a server knows is added to their data. Exits with 77 where there is no Chromium with its driver.
"""

import base64
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support" / "python"))
import webdriver  # noqa: E402

DATA = re.compile(r'(<script id="voxloc-data" type="application/json">)(.*?)(</script>)', re.S)
TEXTS = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent);"
TABLE = """
return [...document.querySelectorAll(arguments[0] + " tbody tr")].map(
  (line) => [...line.children].map((cell) => cell.textContent));
"""
COPY = webdriver.canvas_copy('document.querySelector("#view canvas")')
# Mean colours of what is not background in vertical strips of the view, [r, g, b, pixels] each.
STRIPS = COPY + """
const back = pixels.slice(0, 3);
const strips = Array.from({ length: arguments[0] }, () => [0, 0, 0, 0]);
for (let at = 0; at < pixels.length; at += 4) {
  if (back.every((value, i) => pixels[at + i] === value)) continue;
  const strip = strips[Math.floor((at / 4) % canvas.width / canvas.width * strips.length)];
  strip[3] += 1;
  for (let i = 0; i < 3; i += 1) strip[i] += pixels[at + i];
}
return strips.map((strip) => strip.map((value, i) => (i < 3 ? value / Math.max(1, strip[3]) : value)));
"""
BACKGROUND = COPY + "return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);"
PICTURE = COPY + "return canvas.toDataURL();"
VIEW = """
const box = document.getElementById("view").getBoundingClientRect();
return [box.left, box.top, box.width, box.height];
"""
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><b>a</b>"
ARROW_RIGHT, HOME = "\ue014", "\ue011"


def write_pcd(path, points):
    path.parent.mkdir(exist_ok=True)
    head = ("VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
            f"WIDTH {len(points)}\nHEIGHT 1\nPOINTS {len(points)}\nDATA binary\n")
    path.write_bytes(head.encode() + b"".join(struct.pack("<3f", *point) for point in points))


def ground(low_x, count, seed):
    """A square of 40 m with a step of 3 m in its middle."""
    numbers = random.Random(seed)
    points = []
    for _ in range(count):
        x, y = numbers.uniform(0, 40), numbers.uniform(0, 40)
        points.append((low_x + x, y, 3.0 if 15 < x < 25 and 15 < y < 25 else 0.0))
    return points


def fit(change, seen_through):
    return {"last_used_at_ns": 1, "scans": 9.0, "residual_m": 0.05, "explained_points": 90.0,
            "unexplained_points": 10.0, "unexplained_ratio": 0.1, "solid_cells": 5.0,
            "seen_through_ratio": seen_through, "change": change}


def with_server(data):
    """The data as it is of a server: a is old and unchanged, b is new and changed."""
    day_ns = 86_400_000_000_000
    for tile, change, age in zip(data["tiles"], (0.0, 1.0), (300, 2)):
        tile["info"] = {"revision": 400 - age, "resident": True, "damaged": False,
                        "fit": fit(change, change / 2)}
        tile["changed_at_ns"] = data["made_at_ns"] - age * day_ns
    session = {"session": "s1", "vehicle": HOSTILE, "map_revision": 3, "answered": 20,
               "accepted": 19, "status": "OK",
               "last_pose": {"map_t_base": [20, 20, 0, 0, 0, 0, 1], "map_revision": 3, "age_s": 1.5}}
    data["sessions"] = [session, dict(session, vehicle="van", status="UNSPECIFIED", last_pose=None)]
    # A red sphere of 6 m in the middle of tile a.
    cell = struct.pack("<9h", 0, 0, 1000, 6000, 0, 0, 6000, 0, 6000)
    data["layers"] = [{"name": "cells", "color": "--bad", "cubes": False, "edge_m": 6.0, "count": 1, "cells_of": 1,
                       "blocks": [{"origin": [20, 20, 0], "count": 1,
                                   "base64": base64.b64encode(cell).decode()}]}]
    return data


class MapPage(unittest.TestCase):
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="voxloc_map_")
        root = pathlib.Path(cls.folder.name)
        write_pcd(root / "town" / "a.pcd", ground(0, 20_000, 1))
        write_pcd(root / "town" / "b.pcd", ground(40, 30_000, 2))
        # A box of 3 m that came beside the step of b.
        box = [(40 + 30 + 0.1 * i, 30 + 0.1 * j, 1.6) for i in range(30) for j in range(30)]
        write_pcd(root / "later" / "a.pcd", ground(0, 20_000, 1))
        write_pcd(root / "later" / "b.pcd", ground(40, 30_000, 2) + box)
        cls.written = root / "town.html"
        cls.run_voxloc("map", "view", root / "town", "--html", cls.written)
        cls.html = cls.written.read_text(encoding="utf-8")
        cls.browser = webdriver.Browser(*webdriver.find_browser(), flags=cls.flags)

    @classmethod
    def run_voxloc(cls, *arguments):
        subprocess.run([os.path.join(cls.programs, "voxloc"), *arguments], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def tearDown(self):
        # Without a GPU the browser itself reads the pixels of each frame back, and advises against it.
        logged = [entry for entry in self.browser.console() if "due to ReadPixels" not in entry["message"]]
        self.assertEqual(logged, [], "the page logged something")

    def open(self, path):
        self.browser.open(path)
        self.browser.wait_until_idle()

    def open_of_server(self):
        self.open_with_data(self.written, with_server(json.loads(DATA.search(self.html).group(2))))

    def open_with_data(self, page, more):
        """The page, with other values of some keys of its data."""
        html = pathlib.Path(page).read_text(encoding="utf-8")
        text = json.dumps({**json.loads(DATA.search(html).group(2)), **more}).replace("<", "\\u003c")
        path = os.path.join(self.folder.name, "changed_data.html")
        pathlib.Path(path).write_text(DATA.sub(lambda found: found.group(1) + text + found.group(3), html),
                                      encoding="utf-8")
        self.open(path)

    def choose_coloring(self, name):
        self.browser.run("""
            const select = document.getElementById("coloring");
            select.value = [...select.options].find((one) => one.text === arguments[0]).value;
            select.dispatchEvent(new Event("change"));""", name)
        self.browser.wait_until_idle()

    def click_view(self, right, down):
        """A click at a share of the view's width and height."""
        left, top, width, height = self.browser.run(VIEW)
        x, y = left + right * width, top + down * height
        self.browser.drag(x, y, x, y)

    def texts(self, selector):
        return self.browser.run(TEXTS, selector)

    def strips(self, count):
        return self.browser.run(STRIPS, count)

    def picture(self):
        return self.browser.run(PICTURE)


class Drawn(MapPage):
    def test_the_page_as_written_is_drawn_and_needs_no_network(self):
        self.open(self.written)
        self.assertIn("town", self.texts("#headline")[0])
        self.assertEqual([line[0] for line in self.browser.run(TABLE, "#tile-table")], ["a", "b"])
        self.assertEqual(
            self.browser.run("return performance.getEntriesByType('resource').map((e) => e.name);"), [])
        self.assertGreater(sum(strip[3] for strip in self.strips(8)), 20_000)
        self.assertFalse(self.browser.run("return document.getElementById('sessions-card').hidden === false;"))
        self.assertEqual(self.browser.run(
            "return document.getElementById('view-note').hidden;"), not self.flags)

    def test_tiles_are_coloured_by_what_is_known_of_them(self):
        self.open_of_server()
        self.browser.click("#turn button:nth-child(2)")
        self.choose_coloring("how much seems to have changed")
        colored = self.strips(2)
        self.assertGreater(colored[0][1], 1.3 * colored[0][0], "tile a is good: green")
        self.assertGreater(colored[1][0], 1.4 * colored[1][1], "tile b has changed: red")
        self.choose_coloring("height")
        by_height = self.strips(2)
        for channel in range(3):
            self.assertAlmostEqual(by_height[0][channel], by_height[1][channel], delta=12)
        self.choose_coloring("age of the content")
        self.assertEqual(self.texts("#legend li"), ["2.00 d300 d"])

    def test_a_click_selects_the_tile_of_a_point(self):
        self.open_of_server()
        self.browser.click("#turn button:nth-child(2)")
        # The middle of the view is the border of the tiles.
        self.click_view(0.6, 0.5)
        self.assertEqual(self.texts("#facts h3")[0][0], "b")
        facts = dict(zip(self.texts("#facts dt"), self.texts("#facts dd")))
        self.assertEqual(facts["how much seems to have changed"], "1.00")
        self.assertEqual(facts["the map has it, scans see through it"], "50.0 %")
        self.assertEqual(facts["points"].replace("\u2009", ""), "30000, of which the page has 30000")
        x, y, _ = (float(part) for part in facts["point"].removesuffix(" m").split(","))
        self.assertTrue(40 < x < 60, x)
        self.assertAlmostEqual(y, 20, delta=2)
        self.assertEqual(self.texts("#tile-table tr[aria-current] td:first-child"), ["b"])
        self.assertEqual(self.browser.run("return document.querySelectorAll('.overlay .box').length;"), 1)
        self.click_view(0.01, 0.01)
        self.assertTrue(self.browser.run("return document.getElementById('facts').hidden;"))

    def test_only_the_selected_tile_is_drawn_and_saved_as_a_picture(self):
        self.open_of_server()
        self.browser.click("#tile-table tbody tr:nth-child(2) .link")
        self.assertEqual(self.texts("#facts h3")[0][0], "b")
        both = int(self.browser.run("return document.getElementById('view').dataset.drawn;"))
        self.browser.click("#facts .only")
        one = int(self.browser.run("return document.getElementById('view').dataset.drawn;"))
        self.assertTrue(0 < one <= both)
        self.assertLessEqual(one, 30_000)
        saved = self.browser.run("""
            return new Promise((done) => {
              HTMLAnchorElement.prototype.click = function () {
                const name = this.download;
                fetch(this.href).then((answer) => answer.arrayBuffer()).then((bytes) =>
                  done([name, bytes.byteLength, [...new Uint8Array(bytes).slice(1, 4)]]));
              };
              document.getElementById("picture").click();
            });""")
        self.assertRegex(saved[0], r"^[A-Za-z0-9._-]+\.png$")
        self.assertGreater(saved[1], 1000)
        self.assertEqual(bytes(saved[2]), b"PNG")

    def test_keys_the_mouse_and_buttons_move_the_map(self):
        self.open(self.written)
        self.browser.run("document.getElementById('view').focus();")
        first = self.picture()
        self.browser.press(ARROW_RIGHT)
        moved = self.picture()
        self.assertNotEqual(first, moved)
        self.browser.press("+")
        self.assertNotEqual(moved, self.picture())
        self.browser.press(HOME)
        self.assertEqual(first, self.picture())
        left, top, width, height = self.browser.run(VIEW)
        self.browser.drag(left + width / 2, top + height / 2, left + width / 2 + 80, top + height / 2)
        turned = self.picture()
        self.assertNotEqual(first, turned)
        self.browser.wheel(left + width / 2, top + height / 2, -300)
        self.assertNotEqual(turned, self.picture())
        self.browser.press("t")
        self.browser.press(HOME)
        # From above, two squares side by side are twice as wide as high.
        counts = [strip[3] for strip in self.strips(20)]
        self.assertAlmostEqual(sum(counts[:10]), sum(counts[10:]), delta=0.2 * sum(counts))

    def test_what_is_drawn_far_away_is_thinned(self):
        self.open(self.written)
        drawn = "return Number(document.getElementById('view').dataset.drawn);"
        near = self.browser.run(drawn)
        for _ in range(6):
            self.browser.click("#zoom-out")
        far = self.browser.run(drawn)
        self.assertLess(far, near / 10)
        self.assertGreater(far, 0)

    def test_the_table_sorts(self):
        self.open_of_server()
        header = "#tile-table th:nth-child(2) button"
        self.browser.click(header)
        self.assertEqual([line[0] for line in self.browser.run(TABLE, "#tile-table")], ["b", "a"])
        self.assertEqual(self.browser.run(
            "return document.querySelector('#tile-table th:nth-child(2)').getAttribute('aria-sort');"),
            "descending")
        self.browser.click(header)
        self.assertEqual([line[0] for line in self.browser.run(TABLE, "#tile-table")], ["a", "b"])

    def test_layers_and_points_are_switched_on_and_off(self):
        self.open_of_server()
        self.browser.click("#turn button:nth-child(2)")
        self.browser.click("#sizes button:nth-child(4)")
        self.assertEqual(sum(strip[3] for strip in self.strips(8)), 0)
        self.browser.click("#layers button")
        self.assertGreater(sum(strip[3] for strip in self.strips(8)), 0)
        self.browser.click("#layers button")
        self.browser.click("#sizes button:nth-child(1)")
        shown = self.picture()
        self.browser.click("#layers button")
        self.assertNotEqual(shown, self.picture())
        self.browser.click("#layers button")
        self.assertEqual(shown, self.picture())

    def test_sessions_are_on_the_map_and_their_text_is_text(self):
        self.open_of_server()
        self.assertEqual(self.texts(".session text"), [HOSTILE])
        lines = self.browser.run(TABLE, "#sessions")
        self.assertEqual(lines[0], [HOSTILE, "OK", "3", "20", "19", "20.0, 20.0, 0.0", "1.5"])
        self.assertEqual(lines[1][5], "not known")
        self.assertEqual(self.browser.run("return document.querySelectorAll('img, table b').length;"), 0)
        self.assertTrue(self.browser.run("return document.title;").startswith("voxloc Map"))

    def test_theme_switches(self):
        self.open(self.written)
        light = self.browser.run(BACKGROUND)
        self.browser.click("#theme")
        dark = self.browser.run(BACKGROUND)
        self.assertEqual(light, [255, 255, 255])
        self.assertLess(max(dark), 60)

    def test_changes_are_cubes_and_places(self):
        page = os.path.join(self.folder.name, "changes.html")
        self.run_voxloc("map", "diff", os.path.join(self.folder.name, "town"),
                        os.path.join(self.folder.name, "later"), "--html", page)
        self.open(page)
        places = self.browser.run(TABLE, "#places")
        self.assertEqual(len(places), 1)
        self.assertEqual((places[0][0], places[0][-1]), ("came", "\u2013"))
        before = self.picture()
        self.browser.click("#places tbody .link")
        self.assertNotEqual(before, self.picture())
        colors = self.strips(3)[1]
        self.assertGreater(colors[3], 1000)
        self.browser.click("#layers button")
        without = self.strips(3)[1]
        self.assertNotEqual(colors, without)


    def test_proposed_tiles_have_their_evidence(self):
        page = os.path.join(self.folder.name, "proposal.html")
        self.run_voxloc("map", "diff", os.path.join(self.folder.name, "town"),
                        os.path.join(self.folder.name, "later"), "--html", page)
        drives = [{"name": f"drive {i}", "vehicle": "bus", "start_s": 1.7e9 + 7200 * i, "scans": 9} for i in range(6)]
        changed = {"tile": "b", "drives": [1, 2, 3, 4, 5], "vehicles": [HOSTILE, "bus"], "drives_by_direction": [3, 2],
                   "points": 31000, "points_added": 1234, "points_removed": 56, "cubes_new": 9, "cubes_gone": 8,
                   "cubes_unsettled": 7, "held_out": {"scans": 12, "score_before": 2.0, "score_after": 2.5}}
        new = {"tile": "b", "drives": [0, 5], "vehicles": ["bus"], "drives_by_direction": [2, 0], "points": 31000,
               "cubes_new": 9, "cubes_unsettled": 7, "way_m": 31.4, "held_out": {"scans": 12, "agreeing": 11}}
        for key, tile, line in (
                ("tiles", changed, ["b", "1234", "56", "5 (3 + 2)", HOSTILE + ", bus", "2023-11-15 00:13",
                                    "2023-11-15 08:13", "12", "2.000", "2.500"]),
                ("new_tiles", new, ["b", "31000", "31", "2 (2 + 0)", "bus", "2023-11-14 22:13", "2023-11-15 08:13", "12",
                                    "11"])):
            self.open_with_data(page, {"proposal": {"drives": drives, key: [tile]}})
            table = self.browser.run(TABLE, "#proposal")
            self.assertEqual([[cell.replace("\u2009", "") for cell in row] for row in table], [line])
            before = self.picture()
            self.browser.click("#proposal tbody .link")
            self.assertNotEqual(before, self.picture())
            self.assertEqual(self.texts("#facts h3")[0][0], "b")
            self.assertEqual(self.browser.run("return document.querySelectorAll('img, table b').length;"), 0)


class DrawnWithoutWebgl(Drawn):
    flags = ("--disable-3d-apis",)


if __name__ == "__main__":
    MapPage.programs = webdriver.path_for_tests("map_page_test.py", "PROGRAMS_DIR")
    unittest.main(verbosity=2)
