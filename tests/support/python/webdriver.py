# SPDX-License-Identifier: Apache-2.0
"""A browser driven by the W3C WebDriver protocol, with nothing but the standard library.

`Browser` starts chromedriver, which starts a headless Chromium with a profile of its own that is
deleted at the end; neither touches the network. Not thread-safe. A request that is not answered in
30 s raises.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

ANSWER_TIMEOUT_S = 30
SKIPPED = 77  # SKIP_RETURN_CODE of voxloc_add_python_test
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-device-scale-factor=1",
    "--enable-unsafe-swiftshader",  # WebGL without a GPU, for pages that these tests wrote
)

# A canvas, copied: `canvas`, and its `pixels` by the context `pen`. Reading the page's own again and
# again makes the browser log advice. The expression finds the canvas.
_COPY = """
const original = %s;
const canvas = document.createElement("canvas");
[canvas.width, canvas.height] = [original.width, original.height];
const pen = canvas.getContext("2d", { willReadFrequently: true });
pen.drawImage(original, 0, 0);
const pixels = pen.getImageData(0, 0, canvas.width, canvas.height).data;
"""
# How many pixels of the copy have a colour of the style sheet (or its channels, "31, 36, 48"), to a
# tolerance in each channel, and the mean of their places.
_OF_COLOUR = """
const probe = document.createElement("canvas").getContext("2d");
const value = getComputedStyle(document.documentElement).getPropertyValue(%s).trim();
probe.fillStyle = value.includes(",") && !value.includes("(") ? `rgb(${value})` : value;
probe.fillRect(0, 0, 1, 1);
const want = [...probe.getImageData(0, 0, 1, 1).data];
let count = 0, x = 0, y = 0;
for (let i = 0; i < pixels.length; i += 4) {
  if (want.some((value, k) => Math.abs(pixels[i + k] - value) > %d)) continue;
  count += 1;
  x += (i / 4) %% canvas.width + 0.5;
  y += Math.floor(i / 4 / canvas.width) + 0.5;
}
return { count, x: x / count, y: y / count, width: canvas.width, height: canvas.height };
"""


def canvas_copy(expression):
    """A script's beginning: the canvas that this JavaScript expression finds, copied."""
    return _COPY % expression


def pixels_of_colour(expression, colour, tolerance=0):
    """A script that counts the pixels of a canvas in a colour: see _OF_COLOUR."""
    return canvas_copy(expression) + _OF_COLOUR % (colour, tolerance)


def find_browser():
    """Paths of chromedriver and of Chromium, or None where one is missing."""
    driver = shutil.which("chromedriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    return (driver, chromium) if driver and chromium else None


def path_for_tests(script, what):
    """The path that the only argument of a script of browser tests names, `what`. Ends the script
    where it was not given, or where there is no browser: as skipped."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {script} {what}")
    if find_browser() is None:
        print("no Chromium with chromedriver: scripts/install-dependencies --ci")
        sys.exit(SKIPPED)
    return os.path.abspath(sys.argv.pop())


class Browser:
    def __init__(self, driver, chromium, width=1280, height=1400, flags=()):
        """`flags`: of Chromium, beside those of every test."""
        self._profile = tempfile.mkdtemp(prefix="voxloc_browser_")
        self._driver = None
        self._session = None
        try:
            self._start(driver, chromium, width, height, flags)
        except BaseException:
            self.close()
            raise

    def _start(self, driver, chromium, width, height, flags):
        environment = dict(os.environ, HOME=self._profile, TMPDIR=self._profile)
        self._driver = subprocess.Popen(
            [driver, "--port=0"], env=environment, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        port = None
        for line in self._driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                port = found.group(1)
                break
        if port is None:
            raise RuntimeError("chromedriver ended before it was ready")
        self._url = f"http://127.0.0.1:{port}/session"
        arguments = [*_FLAGS, *flags, f"--user-data-dir={self._profile}/profile",
                     f"--window-size={width},{height}"]
        answer = self._call("POST", "", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"binary": chromium, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}})
        self._session = answer["sessionId"]

    def _call(self, method, path, body=None):
        url = self._url + (f"/{self._session}{path}" if self._session else path)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"},
                                         method=method)
        # A proxy of the environment is not for this machine's own ports.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=ANSWER_TIMEOUT_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError(f"{method} {path}: {value['error']}: {value['message']}") from None

    def open(self, path):
        self.visit(f"file://{os.path.abspath(path)}")

    def visit(self, url):
        self._call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """What the body of a JavaScript function returns; it may return a promise."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait_until_idle(self):
        """Waits until what the page has asked to be drawn is drawn."""
        self.run("return new Promise((done) => requestAnimationFrame(() =>"
                 " requestAnimationFrame(() => done(true))));")

    def _act(self, *sources):
        self._call("POST", "/actions", {"actions": list(sources)})
        self.wait_until_idle()

    def _pointer(self, *actions):
        self._act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                   "actions": list(actions)})

    def move(self, x, y):
        """Moves the mouse to a place of the window, in CSS pixels."""
        self._pointer({"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)})

    def drag(self, x, y, to_x, to_y):
        self._pointer(
            {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "duration": 50, "x": round(to_x), "y": round(to_y)},
            {"type": "pointerUp", "button": 0})

    def click(self, selector):
        """A real click: the element is scrolled into view and must not be covered."""
        element = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{next(iter(element.values()))}/click", {})
        self.wait_until_idle()

    def wheel(self, x, y, delta_y):
        self._act({"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": delta_y,
             "duration": 0}]})

    def press(self, key):
        self._act({"type": "key", "id": "keyboard",
                   "actions": [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]})

    def heap_bytes(self):
        """What the page's script holds; exact with the flag --enable-precise-memory-info."""
        self._call("POST", "/goog/cdp/execute", {"cmd": "HeapProfiler.collectGarbage", "params": {}})
        return self.run("return performance.memory.usedJSHeapSize;")

    def console(self):
        """What the page has logged since the last call, uncaught errors included."""
        return self._call("POST", "/se/log", {"type": "browser"})

    def close(self):
        if self._driver is not None:
            if self._session is not None:
                try:
                    self._call("DELETE", "")
                except (OSError, RuntimeError):
                    pass  # the driver is ended below
            self._driver.terminate()
            try:
                self._driver.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._driver.kill()
                self._driver.wait()
            self._driver.stdout.close()
            self._driver = None
        shutil.rmtree(self._profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
