# SPDX-License-Identifier: BSD-3-Clause
"""The report's page in headless Chromium: sorted, searched, zoomed and hovered by clicks, on a desktop and a telephone, in
light and dark, and without script. Chromium is spoken to through its pipe, for which Python needs nothing more."""

import base64
import json
import os
import shutil
import subprocess

import pytest

import harness
from test_diagnosis import hour_of, report

pytestmark = [pytest.mark.plain, pytest.mark.together,
              pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")]


class Browser:
    """A page in Chromium."""

    def __init__(self, where, path, script=True):
        to_it, self.write = os.pipe()
        self.read, from_it = os.pipe()
        # The pipe is its file descriptors 3 and 4.
        command = f'exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe ' \
            f'--user-data-dir="{where}/profile" about:blank 3<&{to_it} 4>&{from_it}'
        self.process = subprocess.Popen(["bash", "-c", command], pass_fds=(to_it, from_it), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_it)
        os.close(from_it)
        self.number, self.rest, self.session = 0, b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Page.enable")
        self.size(1200, 900)
        self.call("Page.navigate", url=path.as_uri())
        self.until("Page.loadEventFired")

    def messages(self):
        """As they come; the pipe's end is an error."""
        while True:
            while b"\0" not in self.rest:
                data = os.read(self.read, 1 << 20)
                assert data, "chromium has ended"
                self.rest += data
            one, self.rest = self.rest.split(b"\0", 1)
            yield json.loads(one)

    def until(self, event):
        next(one for one in self.messages() if one.get("method") == event)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        answer = next(one for one in self.messages() if one.get("id") == self.number)
        assert "error" not in answer, answer
        return answer["result"]

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        # A page that still scrolls would move away from below the mouse.
        features = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        self.call("Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in features.items()])

    def value(self, expression):
        """Of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def place(self, element):
        """The box of an expression's element, in the window. What is clicked at its centre is this element."""
        return self.value(f"""(() => {{
          const e = {element}, box = () => e.getBoundingClientRect();
          const hit = b => e.contains(document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2));
          if (!hit(box())) e.scrollIntoView({{block: 'center'}});
          const b = box();
          if (!hit(b)) throw new Error('hidden');
          return [b.left, b.top, b.width, b.height];
        }})()""")

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=int(kind != "mouseReleased"), clickCount=1)

    def click(self, element):
        left, top, width, height = self.place(element)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, left + width / 2, top + height / 2)

    def picture(self, path):
        """All of the page, as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A page of an hour of 60 components, of which PGEN -- 8 waited longer for a time."""
    where = tmp_path_factory.mktemp("page")
    hour_of(where, 60, 0, "grown_wait")
    report(where, "-o", where / "r.html")
    return where / "r.html"


@pytest.fixture
def browser(path, tmp_path):
    one = Browser(tmp_path, path)
    yield one
    one.close()


TABLE = "document.querySelector('table[data-of={}]')"
COLUMN = "[...{}.querySelectorAll('tbody tr')].map(row => row.cells[{}].textContent)"


def seconds(text):
    number, unit = text.split()
    return float(number.replace(",", "")) * {"s": 1, "ms": 1e-3, "µs": 1e-6}[unit]


def column(browser, table, number=0):
    return browser.value(COLUMN.format(TABLE.format(table), number))


def test_tables_are_sorted_and_searched(browser):
    assert len(column(browser, "components")) == 21 and column(browser, "components")[-1] == "40 others"
    browser.click("[...document.querySelectorAll('button.more')].find(b => b.textContent === 'all 60 rows')")
    assert len(column(browser, "components")) == 60
    browser.click(TABLE.format("components") + ".querySelectorAll('th button')[11]")  # 99 in 100 of the waits
    waits = [seconds(text) for text in column(browser, "components", 11) if text]
    assert len(waits) == 40 and waits == sorted(waits, reverse=True) and waits[0] > waits[-1]
    browser.click(TABLE.format("models") + ".querySelector('tbody button')")
    model = column(browser, "models")[0]
    names = column(browser, "components")
    assert len(names) == 20 and all(name.startswith(model + " -- ") for name in names)


def test_rows_that_are_not_on_the_page_are_said(tmp_path):
    options = {"source.type": "synthetic", "source.producers": 400, "source.consumers": 100, "source.fan_out": 3, "source.burst": 5,
               "source.steps": 3, "statistics.level": "component", "outputs.0.type": "hdf5"}
    subprocess.run([harness.program("vampire"), "-q", *(word for one in options.items() for word in ("-o", "{}={}".format(*one)))],
                   cwd=tmp_path, check=True, timeout=60 * harness.PATIENCE)
    report(tmp_path, "-o", tmp_path / "r.html")
    browser = Browser(tmp_path, tmp_path / "r.html")
    try:
        others = int(column(browser, "transports")[-1].split()[0].replace(",", ""))
        button = TABLE.format("transports") + ".parentNode.nextSibling"
        assert others > 1000 and browser.value(button + ".textContent") == "the first 1,020 rows"
        assert browser.value(button + ".nextSibling.textContent") == f" {others - 1000:,} rows are not on this page"
        browser.click(button)
        assert len(column(browser, "transports")) == 1020
    finally:
        browser.close()


def test_one_axis_of_time(browser):
    boxes = "[...document.querySelectorAll('.time svg')].map(one => one.getAttribute('viewBox'))"
    before = browser.value(boxes)
    assert len(before) >= 6 and len(set(before)) == 1
    browser.click("[...document.querySelectorAll('.answers li button')][0]")
    finding = browser.value(boxes)
    low, _, width, _ = map(float, finding[0].split())
    begin, end = (float(browser.value(f"document.querySelector('.answers li').dataset.{which}")) for which in ("from", "to"))
    assert len(set(finding)) == 1 and low <= begin < end <= low + width < 2 * (end - begin) + low
    browser.click("[...document.querySelectorAll('.tools button')][0]")
    assert browser.value(boxes) == before
    left, top, width, height = browser.place("document.querySelector('.time svg')")
    browser.mouse("mouseMoved", left + width / 4, top + height / 2)
    assert browser.value("document.querySelector('.tip').textContent").startswith("08:")
    assert "IFS" in browser.value("document.querySelector('.tip').textContent")
    browser.mouse("mousePressed", left + width / 4, top + height / 2)
    browser.mouse("mouseMoved", left + width / 2, top + height / 2)
    browser.mouse("mouseReleased", left + width / 2, top + height / 2)
    span = float(before[0].split()[2])
    zoomed = browser.value(boxes)
    assert len(set(zoomed)) == 1 and abs(float(zoomed[0].split()[2]) - span / 4) < span / 50


def test_on_a_telephone_and_in_the_dark(browser, tmp_path):
    for width, dark in ((390, False), (390, True), (1200, True)):
        browser.size(width, 800, dark)
        assert browser.value("document.documentElement.scrollWidth") <= width
        paper = browser.value("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(22, 24, 29)") == dark
    browser.picture(tmp_path / "page.png")


def test_without_script(path, tmp_path):
    browser = Browser(tmp_path, path, script=False)
    try:
        assert path.stat().st_size < 3 << 20
        document = browser.call("DOM.getDocument", depth=0)["root"]["nodeId"]
        for what, least in ((".answers li", 1), (".time svg path", 10), ("tbody tr", 60), (".time .x span", 6)):
            assert len(browser.call("DOM.querySelectorAll", nodeId=document, selector=what)["nodeIds"]) >= least, what
        assert not browser.call("DOM.querySelectorAll", nodeId=document, selector="button")["nodeIds"]
    finally:
        browser.close()
