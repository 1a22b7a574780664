#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `voxloc fleet --serve` in headless Chromium: fleet_live_test.py PROGRAMS_DIR.

Two servers, of which one has a map and a vehicle that drives through it. Exits with 77 where there
is no Chromium with its driver.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support" / "python"))
import town_drive  # noqa: E402
import voxlocd  # noqa: E402
import webdriver  # noqa: E402
from waiting import eventually  # noqa: E402

TEXTS = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent);"
LINES = """
return [...document.querySelectorAll(arguments[0] + " tbody tr")].map(
  (line) => [...line.children].map((cell) => cell.textContent));
"""
# Of a canvas of the map.
PIXELS = webdriver.pixels_of_colour('document.querySelectorAll("#map canvas")[arguments[0]]', "arguments[1]")
SEARCH = """
const box = document.getElementById("vehicle-search");
box.value = arguments[0];
box.dispatchEvent(new Event("input"));
"""


class FleetLive(town_drive.TownDrive):
    SCANS = 200

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        other = tempfile.TemporaryDirectory(prefix="voxloc_other_")
        cls.addClassCleanup(other.cleanup)
        cls.other = voxlocd.Voxlocd([os.path.join(cls.programs, "voxlocd")], other.name)
        cls.addClassCleanup(cls.other.stop)
        voxloc = os.path.join(cls.programs, "voxloc")
        # One drive after the other.
        cls.drive = subprocess.Popen(
            ["bash", "-c", 'while "$@"; do :; done', "drive", voxloc, "replay", "--server",
             cls.server.address, "--map", "town", "--scans", "town/scans", "--poses", "town/poses.txt",
             "--points", "1500", "--min-range", "1", "--rate", "5", "--vehicle", "bus-1"],
            cwd=cls.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        cls.addClassCleanup(cls.drive.wait)
        cls.addClassCleanup(os.killpg, cls.drive.pid, signal.SIGTERM)
        cls.fleet = subprocess.Popen(
            [voxloc, "fleet", "--server", f"{cls.server.address},{cls.other.address}", "--timeout", "1",
             "--serve", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.fleet.stdout.close)
        cls.addClassCleanup(cls.fleet.wait)
        cls.addClassCleanup(cls.fleet.kill)
        cls.url = cls.fleet.stdout.readline().split()[-1]
        cls.browser = webdriver.Browser(*webdriver.find_browser())
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.console()
        self.browser.visit(self.url)
        eventually("the page shows the vehicle", lambda: self.shown("#headline") == ["1 vehicle on 2 servers"])

    def tearDown(self):
        self.assertEqual(self.browser.console(), [], "the page logged something")

    def shown(self, selector):
        return self.browser.run(TEXTS, selector)

    def lines(self, table):
        return self.browser.run(LINES, table)

    def vehicle(self):
        """The line of the vehicle, which is not there between two drives."""
        return eventually("the vehicle has a session", lambda: self.lines("#vehicles"))[0]

    def test_draws_tiles_and_a_vehicle_with_its_way(self):
        self.assertEqual(self.shown("#live"), ["Live"])
        eventually("the tiles are drawn", lambda: self.browser.run(PIXELS, 0, "--map-low")["count"] > 1000)
        eventually("a vehicle is on the map", lambda: self.browser.run(
            "return document.getElementById('map').dataset.drawn;") == "1")
        eventually("the vehicle and its way are drawn",
                   lambda: self.browser.run(PIXELS, 1, "--good")["count"] > 20)

    def test_needs_nothing_but_its_server(self):
        names = self.browser.run("return performance.getEntriesByType('resource').map((e) => e.name);")
        self.assertTrue(all(name.startswith(self.url) for name in names), names)
        with urllib.request.urlopen(self.url, timeout=10) as answer:
            self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
        blocked = self.browser.run("""
            return new Promise((done) => {
              document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
              document.head.append(Object.assign(document.createElement("script"), { textContent: "1" }));
            });""")
        self.assertTrue(blocked.startswith("script-src"), blocked)
        self.assertEqual(len(self.browser.console()), 1, "the policy's own message")

    def test_a_vehicle_moves_and_has_a_timeline(self):
        self.browser.click("#vehicles button.link")
        self.assertEqual(self.shown("#timeline-title"), ["bus-1"])

        def facts():
            return dict(zip(self.shown("#timeline-facts dt"), self.shown("#timeline-facts dd")))
        before = facts()
        eventually("it moves", lambda: facts()["position"] != before["position"])
        self.assertEqual(before["verdict"], "accepted")
        for name in ("score (NVTL)", "confidence", "sigma", "latency"):
            self.assertRegex(before[name], r"^\d+\.\d+( m| ms)?$", name)
        eventually("four charts have lines", lambda: all(
            "L" in path for path in self.browser.run(
                "const all = [...document.querySelectorAll('#charts .series')];"
                "return all.length === 4 ? all.map((p) => p.getAttribute('d')) : [''];")))
        times = [float(text[:-2]) for text in self.shown("#charts text") if text.endswith(" s")]
        self.assertLess(max(times), 120, "seconds since the page was opened")
        # In a table that is brought up to date; between two drives the line is gone.
        def focus_stays():
            answered = self.vehicle()[8]
            self.browser.run("document.querySelector('#vehicles button.link')?.focus();")
            eventually("answers are counted", lambda: self.vehicle()[8] != answered)
            return self.browser.run("return document.activeElement.textContent;") == "bus-1"
        eventually("the focus stays", focus_stays)

    def test_updates_come_within_a_second(self):
        looks = set()
        end = time.monotonic() + 5
        while time.monotonic() < end:
            looks.update(self.shown("#vehicles td:nth-child(9)"))
        self.assertGreaterEqual(len(looks), 5, "looks at a vehicle that is answered ten times a second")

    def test_filters(self):
        self.browser.run(SEARCH, "tram")
        self.assertEqual(self.lines("#vehicles"), [])
        eventually("what is left out is counted", lambda: self.shown("#vehicles-note") == ["0 of 1"])
        self.assertEqual(self.browser.run("return document.getElementById('map').dataset.drawn;"), "0")
        self.browser.run(SEARCH, "BUS")
        self.assertEqual(self.vehicle()[0], "bus-1")
        self.browser.run(SEARCH, "")
        self.browser.click("#vehicle-choice button:nth-child(2)")
        self.assertEqual(self.lines("#vehicles"), [])

    def test_a_server_is_lost_and_back(self):
        self.other.signal(signal.SIGSTOP)
        try:
            eventually("the server is lost", lambda: any("no answer" in line for line in self.lines("#servers")))
            eventually("the headline says so", lambda: self.shown("#headline") == ["1 vehicle on 1 of 2 servers"])
            self.assertIn(self.other.address, self.shown("#errors li")[0])
            answered = self.vehicle()[8]
            eventually("the other goes on", lambda: self.vehicle()[8] != answered)
        finally:
            self.other.signal(signal.SIGCONT)
        eventually("the server is back", lambda: self.shown("#headline") == ["1 vehicle on 2 servers"])
        self.assertTrue(self.browser.run("return document.getElementById('errors-card').hidden;"))

    def test_a_command_that_stands_still_is_noticed(self):
        self.fleet.send_signal(signal.SIGSTOP)
        try:
            eventually("the page says so", lambda: "does not answer" in self.shown("#live")[0])
        finally:
            self.fleet.send_signal(signal.SIGCONT)
        eventually("it goes on", lambda: self.shown("#live") == ["Live"])

    def test_keyboard_moves_the_map(self):
        picture = "return document.querySelector('#map canvas').toDataURL();"
        eventually("the tiles are drawn", lambda: self.browser.run(PIXELS, 0, "--map-low")["count"] > 1000)
        self.browser.run("document.getElementById('map').focus();")
        before = self.browser.run(picture)
        self.browser.press("\ue014")  # the right arrow
        self.assertNotEqual(self.browser.run(picture), before)
        self.browser.press("\ue011")  # Home
        self.assertEqual(self.browser.run(picture), before)

    def test_fits_a_phone(self):
        frame = """
            document.documentElement.innerHTML = "<body></body>";
            const frame = document.createElement("iframe");
            frame.width = 390;
            frame.height = 800;
            frame.srcdoc = arguments[0];
            document.body.append(frame);
            return new Promise((done) => frame.addEventListener("load", () =>
              done(frame.contentDocument.documentElement.scrollWidth)));"""
        page = self.browser.run("return document.documentElement.outerHTML;")
        self.browser.visit("about:blank")
        # Without its scripts, as it was drawn.
        self.assertLessEqual(self.browser.run(frame, page.split("<script")[0]), 390)


if __name__ == "__main__":
    FleetLive.programs = webdriver.path_for_tests("fleet_live_test.py", "PROGRAMS_DIR")
    unittest.main(verbosity=2)
