#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a fleet in headless Chromium: fleet_page_test.py PROGRAMS_DIR.

`voxloc fleet --html` writes the page of a server without maps; the tests open it with other data in
the place of its own. Exits with 77 where there is no Chromium with its driver.
"""

import contextlib
import http.server
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support" / "python"))
import voxlocd  # noqa: E402
import webdriver  # noqa: E402
from waiting import eventually  # noqa: E402

DATA = re.compile(r'(<script id="voxloc-data" type="application/json">)(.*?)(</script>)', re.S)
TEXTS = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent);"
TABLE = """
return [...document.querySelectorAll(arguments[0] + " tbody tr")].map(
  (line) => [...line.children].map((cell) => cell.textContent));
"""
DASH = "\u2013"
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><b>bus</b>"


def vehicle(name, revision, status="OK", rate=10.0, ratio=1.0):
    return {"session": "session of " + name, "vehicle": name, "peer": "", "map": "town",
            "map_revision": revision, "profile": "precise", "active": True, "answered": 100,
            "accepted": 99, "unanswered": 0, "status": status, "rate_per_s": rate,
            "accepted_ratio": ratio, "silent_s": 0.1,
            "needs_attention": status not in ("OK", "UNSPECIFIED")}


def answers(number, nvtl, innovation, sharp_ratio):
    return {"revision": number, "answered": 10, "accepted": 10, "aligned": 10, "with_confidence": 10,
            "mean_nvtl": nvtl, "mean_confidence": 0.9, "mean_innovation": innovation,
            "mean_sharp_ratio": sharp_ratio, "mean_seen_through_ratio": 0.0}


def revision(number, state, canary=(), comment=""):
    return {"revision": number, "state": state, "canary_vehicles": list(canary),
            "committed_at_ns": 1_790_000_000_000_000_000, "comment": comment}


def a_fleet():
    """Two servers, of which one is down."""
    vehicles = [vehicle(HOSTILE, 3), vehicle("bus-2", 3, rate=30.0, ratio=0.5),
                {**vehicle("bus-9", 4, "LOW_SCORE", ratio=0.0),
                 "by_revision": [answers(3, 2.5, 1.25, 0.75), answers(4, 1.5, 9.0, 0.5)]}]
    town = {"name": "town", "revision": 3, "revisions_error": None, "tiles_error": None,
            "revisions": [revision(2, "SUPERSEDED"), revision(3, "ACTIVE"),
                          revision(4, "STAGED", ["bus-9"], HOSTILE)],
            "in_use": [{"revision": 3, "vehicles": 2, "rate_per_s": 40.0, "accepted_ratio": 0.625},
                       {"revision": 4, "vehicles": 1, "rate_per_s": 10.0, "accepted_ratio": 0.0}],
            "worst_tiles": [{"tile_id": name, "fit": {
                "change": change, "seen_through_ratio": 0.25, "unexplained_ratio": 0.5,
                "residual_m": 0.0312, "scans": 12.0}} for name, change in (("x0", 0.1), ("x1", 0.9))]}
    return {"taken_at_ns": 1_790_000_000_000_000_000, "answering_servers": 1, "vehicles": 3,
            "rate_per_s": 50.0, "accepted_ratio": 0.5, "errors": ["b:1 GetServerInfo: down"],
            "servers": [{"server": "a:1", "error": None, "version": "1.2.3", "state": "serving",
                         "engine": "cpu", "engine_note": "", "uptime_s": 7200.0,
                         "sessions_error": None, "vehicles": vehicles, "maps_error": None,
                         "maps": [town]},
                        {"server": "b:1", "error": "b:1 GetServerInfo: down"}]}


class Looks(http.server.BaseHTTPRequestHandler):
    """Serves a page, and looks at 500 vehicles that drive in circles, some a second."""

    VEHICLES = 500
    page = b""

    def log_message(self, *_):
        pass

    def look(self, number):
        vehicles = []
        for i in range(self.VEHICLES):
            angle = 0.01 * number + i
            one = vehicle(f"bus-{i}", 3, "LOW_SCORE" if (i + number) % 100 == 0 else "OK")
            one.update(answered=number, answered_at_ns=number, last_answer={
                "map_t_base": [i * math.cos(angle), i * math.sin(angle), 0, 0, 0, 0, 1],
                "position_covariance": [0.01, 0, 0, 0.02, 0, 0.01], "nvtl": 3 + math.sin(angle),
                "confidence": 0.9, "server_s": 0.003})
            vehicles.append(one)
        data = a_fleet()
        data["servers"][0]["vehicles"] = vehicles
        data["taken_at_ns"] += number * 500_000_000
        return data

    def do_GET(self):
        self.send_response(200)
        if self.path == "/":
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(self.page)
            return
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        with contextlib.suppress(OSError):  # the page is closed
            for number in range(1, 1_000_000):
                text = json.dumps(self.look(number))
                time.sleep(0.12)
                self.wfile.write(f"event: fleet\ndata: {text}\n\n".encode())


class FleetPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="voxloc_fleet_")
        server = voxlocd.Voxlocd([os.path.join(cls.programs, "voxlocd")], cls.folder.name)
        try:
            server.wait_until_ready()
            cls.written = os.path.join(cls.folder.name, "fleet.html")
            subprocess.run([os.path.join(cls.programs, "voxloc"), "fleet", "--server", server.address,
                            "--html", cls.written], check=True, timeout=60)
        finally:
            server.stop()
        cls.html = pathlib.Path(cls.written).read_text(encoding="utf-8")
        cls.browser = webdriver.Browser(*webdriver.find_browser(), flags=["--enable-precise-memory-info"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def tearDown(self):
        self.assertEqual(self.browser.console(), [], "the page logged something")

    def open(self, data):
        text = json.dumps(data).replace("<", "\\u003c")
        path = os.path.join(self.folder.name, "changed.html")
        pathlib.Path(path).write_text(
            DATA.sub(lambda found: found.group(1) + text + found.group(3), self.html),
            encoding="utf-8")
        self.browser.open(path)
        self.browser.wait_until_idle()

    def texts(self, selector):
        return self.browser.run(TEXTS, selector)

    def test_the_page_as_written_opens_and_needs_no_network(self):
        self.browser.open(self.written)
        self.browser.wait_until_idle()
        self.assertEqual(self.texts("#headline"), ["0 vehicles on 1 server"])
        self.assertEqual(len(self.browser.run(TABLE, "#servers")), 1)
        self.assertEqual(
            self.browser.run("return performance.getEntriesByType('resource').map((e) => e.name);"), [])

    def test_tables_have_the_figures(self):
        self.open(a_fleet())
        self.assertEqual(self.texts("#headline"), ["3 vehicles on 1 of 2 servers"])
        self.assertEqual(self.texts("#errors li"), ["b:1 GetServerInfo: down"])
        servers = self.browser.run(TABLE, "#servers")
        # Of 50 scans a second 10 + 15 are accepted.
        self.assertEqual(servers[0], ["a:1", "serving", "cpu", "1.2.3", "3", "50.0", "50.0 %", "0", DASH,
                                      "2 h"])
        self.assertEqual(servers[1][1], "no answer")
        revisions = self.browser.run(TABLE, "#revisions")
        self.assertEqual([line[2] for line in revisions], ["3", "4"], "revision 2 is not in use")
        self.assertEqual([line[3] for line in revisions], ["active", "staged, tried by 1 vehicle"])
        self.assertEqual([line[6:] for line in revisions],
                         [["2", "40.0", "62.5 %"], ["1", "10.0", "0.0 %"]])
        self.assertEqual(self.browser.run(TABLE, "#canaries"),
                         [["bus-9", "town", "4", "a:1", "LOW_SCORE", "10.0", "0.0 %", "62.5 %",
                           "2.50, 1.50", "1.25, 9.00", "75.0 %, 50.0 %"]])
        tiles = self.browser.run(TABLE, "#tiles-table")
        self.assertEqual(tiles, [["x1", "town", "a:1", "0.90", "25.0 %", "50.0 %", "0.031", "12.0"],
                                 ["x0", "town", "a:1", "0.10", "25.0 %", "50.0 %", "0.031", "12.0"]])

    def test_vehicles_are_chosen(self):
        self.open(a_fleet())
        self.assertEqual([line[0] for line in self.browser.run(TABLE, "#vehicles")],
                         ["bus-9", HOSTILE, "bus-2"])
        self.browser.click("#vehicle-choice button:nth-child(2)")
        self.assertEqual([line[:2] for line in self.browser.run(TABLE, "#vehicles")],
                         [["bus-9", "LOW_SCORE"]])

    def test_text_of_the_network_is_text(self):
        self.open(a_fleet())
        self.assertEqual(self.browser.run("return document.querySelectorAll('img, table b').length;"), 0)
        self.assertEqual(self.browser.run("return document.title;"), "voxloc fleet")
        self.assertIn(HOSTILE, [line[5] for line in self.browser.run(TABLE, "#revisions")])

    def test_sessions_of_one_name_are_told_apart(self):
        data = a_fleet()
        data["servers"][0]["vehicles"] = [dict(vehicle("bus", 3), session=f"s{i}") for i in (1, 2)]
        self.open(data)
        self.assertEqual([line[0] for line in self.browser.run(TABLE, "#vehicles")],
                         ["bus (s1 of a:1)", "bus (s2 of a:1)"])

    def test_large_fleets_are_cut_and_counted(self):
        data = a_fleet()
        data["servers"][0]["vehicles"] = [vehicle(f"bus-{i:05}", 3) for i in range(1500)]
        self.open(data)
        self.assertEqual(len(self.browser.run(TABLE, "#vehicles")), 1000)
        self.assertEqual(self.texts("#vehicles-note"), ["the first 1000 of 1500"])

    def test_memory_is_flat_with_500_vehicles(self):
        """A short form of days: what is kept of each vehicle is full after 240 looks."""
        Looks.page = DATA.sub(r'\g<1>{"interval_s": 0.5}\g<3>', self.html).encode()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Looks)
        server.daemon_threads = True
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.browser.visit(f"http://127.0.0.1:{server.server_port}/")
        self.addCleanup(self.browser.visit, "about:blank")

        def answered():
            return int(self.browser.run(
                "const cell = document.querySelector('#vehicles td:nth-child(9)');"
                "return cell ? cell.textContent : '0';"))

        def state():
            # The least of several: a look that is just being read takes some megabytes.
            return (min(self.browser.heap_bytes() for _ in range(10)),
                    self.browser.run("return document.querySelectorAll('*').length;"))
        eventually("there are vehicles", answered)
        self.browser.click("#vehicles button.link")
        eventually("250 looks", lambda: answered() > 250)
        heap, nodes = state()
        eventually("350 looks", lambda: answered() > 350)
        heap_later, nodes_later = state()
        # Charts have more marks or fewer, by the values.
        self.assertLess(abs(nodes_later - nodes), 100)
        self.assertLess(heap_later - heap, 2_000_000)

    def test_theme_switches(self):
        self.open(a_fleet())
        self.browser.click("#theme")
        self.assertEqual(
            self.browser.run("return document.documentElement.getAttribute('data-theme');"), "dark")


if __name__ == "__main__":
    FleetPage.programs = webdriver.path_for_tests("fleet_page_test.py", "PROGRAMS_DIR")
    unittest.main(verbosity=2)
