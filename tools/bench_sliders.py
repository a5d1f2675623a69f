"""From a key press to the changed screen: each lesson's own explore and film, beside ipywidgets.interact.

    python tools/bench_sliders.py                # all lessons
    python tools/bench_sliders.py 03 05          # these

Each lesson runs in a page of a real JupyterLab up to the cell with its sliders. Beneath that cell stands the same
function under `interact`: once with what it returns, and for a heatmap once as a picture with the same numbers, drawn
by matplotlib and shown by `plt.show()`. Needs Chromium. Prints a table for the README.
"""

import ast
import json
import os
import platform
import statistics
import sys
import tempfile
from pathlib import Path

import ipywidgets
import jupyterlab
import matplotlib
import nbformat
from browser import HOW_TO_GET_IT, SWITCHES, Lab, Page, chromium
from lessons import LESSONS, code_cells, read
from playwright.sync_api import sync_playwright

PRESSES, WARM_UP = 24, 6
PAUSE = 200  # milliseconds between two presses, as of a person who looks

SETUP = """
import json, time
import matplotlib.pyplot as plt
from IPython.display import display
from ipywidgets import interact
from helpers.explore import Explorer
from helpers.heatmap import Heatmap

spent = {}  # seconds in the kernel for each move, by way

def timed(way, function):
    def run(*args, **kwargs):
        start = time.perf_counter()
        result = function(*args, **kwargs)
        spent.setdefault(way, []).append(time.perf_counter() - start)
        return result
    return run

Explorer._update = timed("ours", Explorer._update)  # the handler of a message, from the new value to the sent result

def with_interact(function, **sliders):
    def run(**values):
        display(function(**values))
    run.__signature__ = __import__("inspect").signature(function)
    interact(timed("same", run), **sliders)

def as_picture(function, **sliders):
    def run(**values):
        table = function(**values)
        if isinstance(table, Heatmap):
            figure, ax = plt.subplots(figsize=(7, 4.8), layout="constrained")
            table.plot(ax)
            for (i, j), weight in __import__("numpy").ndenumerate(table.matrix):
                ax.text(j, i, f"{weight:.4f}", ha="center", va="center", color="white", fontsize=7)
            plt.show()
    run.__signature__ = __import__("inspect").signature(function)
    interact(timed("picture", run), **sliders)
"""

# Milliseconds from the key to the frame that shows another, complete result.
PRESS = """cell => {
    const area = cell.querySelector('.jp-OutputArea');
    const state = window.state_ = () => {
        const last = [...area.querySelectorAll(':scope > .jp-OutputArea-child')].at(-1);
        const result = area.querySelector('.explore-live .widget-html') ?? area.querySelector('.widget-output') ?? last;
        const pictures = [...result.querySelectorAll('img')];
        const full = pictures.length ? pictures.every(p => p.complete && p.naturalWidth) : !!result.textContent.trim();
        return full && (pictures.length ? pictures.map(p => p.src).join() : result.innerHTML);
    };
    const before = state();
    window.answer_ = new Promise(resolve => {
        let start;
        const look = () => {
            const shown = state();
            if (!shown || shown === before) return;
            watcher.disconnect();
            requestAnimationFrame(() => resolve(performance.now() - start));
        };
        const watcher = new MutationObserver(look);
        watcher.observe(area, { childList: true, subtree: true, attributes: true, characterData: true });
        area.addEventListener('load', look, true);  // a picture is there once it has been read
        window.addEventListener('keydown', () => { start = performance.now(); }, { once: true, capture: true });
        setTimeout(() => resolve(null), 5000);
    });
}"""
# The number of frames in which nothing is shown, until it is read.
WATCH = """() => {
    window.blank_ = 0;
    window.watching_ = true;
    const look = () => {
        if (!window.state_()) window.blank_ += 1;
        if (window.watching_) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}"""


def places():
    """(lesson, cell id, call, source of the cells up to it) for each cell that ends with explore or film."""
    wanted = sys.argv[1:]
    for path in LESSONS:
        if wanted and path.stem[:2] not in wanted:
            continue
        before = []
        for cell in code_cells(read(path)):
            if cell.id.startswith(("exercise", "progress")):
                continue
            before.append(cell.source)
            last = ast.parse(cell.source).body[-1:]
            call = ast.get_source_segment(cell.source, last[0]) if last else ""
            if call.startswith(("explore(", "film(")) and not only_text(last[0].value):
                yield path.stem, cell.id, call, list(before)


def only_text(call):
    """Whether it has boxes for text alone, and no slider to press a key on."""
    return all(isinstance(getattr(word.value, "value", None), str) for word in call.keywords)


def notebook_of(call, sources):
    """The lesson up to its sliders, and the same under interact."""
    of_interact = call.partition("(")[2]
    cells = [sources[0], SETUP, *sources[1:], f"with_interact({of_interact}", f"as_picture({of_interact}"]
    cells.append("print('spent', json.dumps(spent))")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def measure(page, cell):
    """Milliseconds of each press that changed something, and the number of frames without a result."""
    control = cell.locator(".noUi-handle, input[type=range], select").first
    cell.scroll_into_view_if_needed()
    a_list = control.evaluate("node => node.tagName") == "SELECT"
    keys = ("ArrowDown", "ArrowUp") if a_list else ("ArrowRight", "ArrowLeft")
    times = []
    for press in range(WARM_UP + PRESSES):
        cell.evaluate(PRESS)
        control.focus()  # JupyterLab may have taken it while the lesson was still running
        page.keyboard.press(keys[press % 2])
        times.append(page.evaluate("() => window.answer_"))
        page.wait_for_timeout(PAUSE)
    page.evaluate(WATCH)
    for press in range(PRESSES // 3):
        page.keyboard.press(keys[press % 2])
        page.wait_for_timeout(PAUSE)
    blank = page.evaluate("() => { window.watching_ = false; return window.blank_ }")
    return [time for time in times[WARM_UP:] if time is not None], blank


def run(browser, call, sources):
    """The measured times by way, in a JupyterLab of its own."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder))
        try:
            nbformat.write(notebook_of(call, sources), lab.root / "notebooks" / "bench.ipynb")
            return moves(Page(browser, lab, "bench.ipynb"))
        finally:
            lab.stop()


def moves(page):
    """The times of the lesson's own cell, of interact, and of interact with a picture."""
    cells = page.page.locator(".jp-CodeCell")
    cells.last.locator("pre", has_text="spent {").wait_for(timeout=120_000)
    ways = {"ours": -4, "same": -3, "picture": -2}
    results = {}
    for way, place in ways.items():
        cell = cells.nth(cells.count() + place)
        if way != "picture" or not results["same"][2]:
            results[way] = (*measure(page.page, cell), bool(cell.locator("img").count()))
    page.page.evaluate(
        "() => { const n = window.jupyterapp.shell.currentWidget.content; n.activeCellIndex = n.widgets.length - 1; }"
    )
    page.command("notebook:run-cell")
    page.page.wait_for_timeout(1500)
    text = cells.last.locator(".jp-OutputArea").inner_text()
    spent = json.loads(text[text.index("{") :])
    page.close()
    return results, {way: 1000 * statistics.median(times[-PRESSES:]) for way, times in spent.items()}


def row(lesson, call, results, spent):
    times, blank, picture = results["ours"]
    middle = {way: statistics.median(result[0]) for way, result in results.items()}
    film = call.startswith("film")
    what = f"{lesson[:2]}, {'figure' if picture else 'heatmap'}, `{'film' if film else 'explore'}`"
    rival = middle.get("picture", middle["same"])
    as_picture = f"{middle['picture']:.0f}" if "picture" in middle else ""
    kernel = "" if film else f"{spent['ours']:.1f}"
    slowest = statistics.quantiles(times, n=20)[-1]
    return (
        f"| {what} | {middle['ours']:.0f} | {slowest:.0f} | {kernel} | {blank} | {middle['same']:.0f} | {as_picture} | "
        f"{rival / middle['ours']:.1f} |"
    )


def main():
    if chromium() is None:
        raise SystemExit(f"To run this, {HOW_TO_GET_IT}.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=SWITCHES)
        print(
            f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
            f"JupyterLab {jupyterlab.__version__}, ipywidgets {ipywidgets.__version__}, "
            f"matplotlib {matplotlib.__version__}, Chromium {browser.version}; milliseconds, {PRESSES} presses each"
        )
        print(
            "\n| lesson | median | 95 % | in the kernel | frames without a result | `interact`, the same "
            "| `interact`, as a picture | times faster |\n|:--|--:|--:|--:|--:|--:|--:|--:|"
        )
        try:
            for lesson, _, call, sources in places():
                print(row(lesson, call, *run(browser, call, sources)), flush=True)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
