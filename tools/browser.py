"""A real JupyterLab in a real browser, for the tests and the benchmark of the sliders."""

import contextlib
import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from lessons import ROOT
from playwright.sync_api import sync_playwright

SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
]
# JupyterLab runs on this machine, where no proxy leads to.
HERE = urllib.request.build_opener(urllib.request.ProxyHandler({}))
TOKEN = "lessons"  # of a server that only this machine reaches, for as long as the tests run
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HOW_TO_GET_IT = "install Chromium (apt-get install chromium; elsewhere: python -m playwright install chromium)"
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},  # all cells, not only those in view
}


# The kernel answers in order: when it has told about itself, whatever was sent before has been done. Twice, because the
# sliders keep back what changes while they wait, and send it after the first answer. An answer may be lost while
# messages of a slider are under way: then it is asked again a second later.
_ANSWERED = """async () => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    for (let time = 0; time < 2; time += 1) {
        const later = new Promise(resolve => setTimeout(resolve, 1000));
        await Promise.race([kernel.requestKernelInfo(), later]);
        await new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)));
    }
}"""


def chromium():
    """The path of a Chromium, or None: $CHROMIUM, one on the PATH, or the one that Playwright has installed."""
    found = [os.environ.get("CHROMIUM"), *map(shutil.which, NAMES)]
    with contextlib.suppress(Exception), sync_playwright() as playwright:
        found.append(playwright.chromium.executable_path)
    return next((path for path in found if path and Path(path).is_file()), None)


class Lab:
    """A JupyterLab of its own: fresh settings, a copy of lessons and helpers, a free port."""

    def __init__(self, folder, app="jupyterlab"):
        self.root, self.log = folder / "root", folder / "lab.log"
        for name in ("notebooks", "helpers"):
            shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb*"))
        if app == "jupyterlab":
            overrides = folder / "config" / "labconfig" / "default_setting_overrides.json"
            overrides.parent.mkdir(parents=True)
            overrides.write_text(json.dumps(SETTINGS), encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        folders = {f"JUPYTER_{kind.upper()}_DIR": str(folder / kind) for kind in ("config", "data", "runtime")}
        self.environment = {**os.environ, **folders, "IPYTHONDIR": str(folder / "ipython")}
        self.environment |= {"JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")}
        self.environment |= {"JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces")}
        options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={self.port}"]
        options += [f"--ServerApp.root_dir={self.root}", f"--IdentityProvider.token={TOKEN}"]
        options += ["--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True"]
        with self.log.open("w", encoding="utf-8") as log:
            command = [sys.executable, "-m", app, *options]
            self.process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _wait(self):
        for _ in range(300):
            with contextlib.suppress(OSError):
                HERE.open(f"{self.url}/api/status?token={TOKEN}", timeout=1).close()
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        raise RuntimeError(
            f"{self.url} does not answer:\n{self.log.read_text(encoding='utf-8', errors='replace')[-2000:]}"
        )

    def trust(self, name):
        """Trust a notebook, as its author's own JupyterLab does."""
        command = [sys.executable, "-m", "jupyter", "trust", str(self.root / "notebooks" / name)]
        subprocess.run(command, env=self.environment, check=True, capture_output=True)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Page:
    """One notebook, open in the browser."""

    def __init__(self, browser, lab, name, *, run=True, path="lab/tree"):
        self.lab = lab
        self.errors = []
        self.page = browser.new_page(viewport={"width": 1280, "height": 1000})
        self.page.set_default_timeout(60_000)
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{lab.url}/{path}/notebooks/{name}?token={TOKEN}&reset")
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=90_000)
        self.page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'",
            timeout=90_000,
        )
        if run:
            self.command("notebook:run-all-cells")
            self.page.wait_for_timeout(500)

    def _listen(self, message):
        if message.type == "error" and "favicon" not in message.text:
            self.errors.append(message.text)

    def command(self, name, **arguments):
        self.page.evaluate("([name, args]) => window.jupyterapp.commands.execute(name, args)", [name, arguments])

    def close(self):
        with contextlib.suppress(Exception):
            self.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        self.page.close()

    def explores(self):
        """One for each place with sliders, from top to bottom."""
        cells = self.page.locator(".jp-CodeCell", has=self.page.locator(".widget-vbox"))
        return [Explore(self.page, cells.nth(number)) for number in range(cells.count())]


class Explore:
    """The sliders of one cell and the result beneath them."""

    def __init__(self, page, cell):
        self.page, self.cell = page, cell

    def controls(self):
        return self.cell.locator(".widget-vbox .noUi-handle, .widget-vbox select, .widget-vbox input").all()

    def shown(self):
        """What the reader sees: the table and text, or the picture's data."""
        return self.cell.evaluate(
            "cell => { const result = cell.querySelector('.explore-live > .widget-html');"
            " const picture = result.querySelector('img'); return picture ? picture.src : result.innerHTML }"
        )

    def press(self, control, key, before=None):
        """Press a key on a control and wait for another result than before; return it."""
        before = self.shown() if before is None else before
        control.focus()
        self.page.keyboard.press(key)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if (now := self.shown()) != before:
                return now
            self.page.wait_for_timeout(10)
        raise AssertionError(f"{key} on {control.get_attribute('aria-label')} changed nothing in 10 s")

    def settled(self):
        """The result once the kernel has answered all that was sent to it, and it has stayed the same for a while."""
        seen = [self.shown()]
        while len(seen) < 4 or len(set(seen[-4:])) > 1:
            self.page.evaluate(_ANSWERED)
            self.page.wait_for_timeout(60)
            seen.append(self.shown())
        return seen[-1]

    def becomes(self, expected):
        """Wait until the result is the expected one, and stays so; tell whether it does."""
        deadline = time.monotonic() + 10
        while self.shown() != expected and time.monotonic() < deadline:
            self.page.wait_for_timeout(20)
        return self.settled() == expected

    def watch(self):
        """From now on note in each frame the height of the result, and whether anything is in it."""
        self.cell.evaluate("""cell => {
            const frames = window.frames_ = [];
            const look = () => {
                const area = cell.querySelector('.jp-OutputArea');
                const result = area.querySelector('.explore-live > .widget-html');
                const picture = result?.querySelector('img');
                const full = picture ? picture.complete && picture.naturalWidth > 0 : !!result?.textContent.trim();
                frames.push([area.offsetHeight, full]);
                if (window.frames_ === frames) requestAnimationFrame(look);
            };
            requestAnimationFrame(look);
        }""")

    def watched(self):
        """(heights, number of frames without a result, number of frames) since `watch`."""
        frames = self.page.evaluate("() => { const seen = window.frames_; window.frames_ = null; return seen }")
        return {height for height, _ in frames}, sum(not full for _, full in frames), len(frames)


def serious(page, theme):
    """What axe-core finds in our outputs that is serious or worse. JupyterLab's own frame is not ours."""
    # Not by the package's own import, which reads the script in the encoding of the machine.
    script = importlib.metadata.distribution("axe-playwright-python").locate_file("axe_playwright_python/axe.min.js")
    page.evaluate(script.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run('.jp-OutputArea-output', {resultTypes: ['violations']})")
    return [
        f"{theme}: {violation['id']}: {node['html'][:200]}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
