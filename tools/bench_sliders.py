"""From key press to changed screen: explore against ipywidgets.interact, in one run, in one page of a real JupyterLab.

    python tools/bench_sliders.py

Needs Chromium. Prints two tables: ways to show the same, and how a heatmap grows with the number of tokens.
"""

import json
import os
import platform
import statistics
import tempfile
from pathlib import Path

import ipywidgets
import jupyterlab
import matplotlib
import nbformat
from browser import HOW_TO_GET_IT, SWITCHES, Lab, Page, chromium
from playwright.sync_api import sync_playwright

PRESSES, WARM_UP = 30, 6
ROUNDS = 3  # of all ways in turn, so that a machine that is slow for a while is so for all of them
SIZES = (6, 12, 24, 48, 128, 512)

SETUP = """
import json, sys, time
sys.path.insert(0, "..")
from helpers import INPUTS, TOKENS, explore, film, heatmap
import matplotlib.pyplot as plt
import torch
from ipywidgets import interact
from helpers.sliders import Explorer

spent = {}  # seconds in the kernel per move, by name

def timed(name, function):
    def run(*args, **kwargs):
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent.setdefault(name, []).append(time.perf_counter() - start)
    return run

def time_newest(name, explorer_of=Explorer):
    # The handler that a message of the browser calls, from the new value to the published result.
    original = explorer_of._update
    def update(self, change=None):
        return timed(getattr(self, "name", "?"), original)(self, change)
    explorer_of._update = update

time_newest("?")

def named(name):
    show = Explorer.show
    def first(self):
        self.name = name
        Explorer.show = show
        return show(self)
    Explorer.show = first

SCORES = INPUTS @ INPUTS.T

def weights(step):
    return torch.softmax(SCORES * (0.2 + step / 20), dim=-1)

def table(step=0):
    return heatmap(weights(step), TOKENS, title=f"step {step}")

def picture(step=0):
    figure, ax = plt.subplots()
    w = weights(step)
    image = ax.imshow(w, cmap="cividis")
    for i in range(6):
        for j in range(6):
            ax.text(j, i, f"{w[i, j]:.4f}", ha="center", va="center", color="white", fontsize=7)
    ax.set_xticks(range(6), TOKENS)
    ax.set_yticks(range(6), TOKENS)
    ax.set(xlabel="key", ylabel="query", title=f"step {step}")
    figure.colorbar(image)
    plt.show()

def draw(figure, step):
    w = weights(step)[1].tolist()
    left, right = figure.subplots(1, 2)
    left.bar(TOKENS, w)
    left.set(ylim=(0, 1), xlabel="token", ylabel="weight", title=f"step {step}")
    left.tick_params(axis="x", labelrotation=90)
    right.plot(w, marker="o")
    right.set(ylim=(0, 1), xlabel="token", ylabel="weight", title="line")

def bars_interact(step=0):
    draw(plt.figure(figsize=(7.2, 4.0), layout="constrained"), step)
    plt.show()

def bars_anew(figure, step=0):
    draw(figure, step)

figure_once = plt.figure(figsize=(7.2, 4.0))
draw(figure_once, 0)
left_once, right_once = figure_once.axes
plt.close(figure_once)

def bars(step=0):
    w = weights(step)[1].tolist()
    for bar, height in zip(left_once.patches, w):
        bar.set_height(height)
    right_once.lines[0].set_ydata(w)
    left_once.set_title(f"step {step}")
    return figure_once

moves = (0, 200)
"""


def ways():
    """(name, code) for each way to show the same."""
    yield "a", "interact(timed('a', picture), step=moves);None"
    yield "b", "named('b'); explore(table, step=moves)"
    yield "c", "named('c'); explore(bars, step=moves)"
    yield "c2", "named('c2'); explore(bars_anew, step=moves)"
    yield "e", "film(table, step=(0, 99))"
    yield "d", "interact(timed('d', bars_interact), step=moves);None"


def sizes():
    """(name, code) for each size, as a heatmap in explore and as a picture under interact."""
    for size in SIZES:
        yield (
            f"T{size}",
            f"base_{size} = torch.randn({size}, {size}, generator=torch.Generator().manual_seed(0))\n"
            f"def grow_{size}(step=0):\n"
            f"    return heatmap(torch.softmax(base_{size} * (0.2 + step / 20), dim=-1), title=f'step {{step}}')\n"
            f"named('T{size}'); explore(grow_{size}, step=moves)",
        )
        yield (
            f"I{size}",
            f"def interact_{size}(step=0):\n"
            f"    figure, ax = plt.subplots(layout='constrained')\n"
            f"    weights = torch.softmax(base_{size} * (0.2 + step / 20), dim=-1)\n"
            f"    heatmap(weights, title=f'step {{step}}').plot(ax)\n"
            f"    plt.show()\n"
            f"interact(timed('I{size}', interact_{size}), step=moves);None",
        )


# Milliseconds from the key to the frame that shows another, complete result.
PRESS = """cell => {
    const area = cell.querySelector('.jp-OutputArea');
    const state = window.state_ = () => {
        const nested = area.querySelector('.widget-output');
        const result = nested ?? [...area.querySelectorAll(':scope > .jp-OutputArea-child')].at(-1);
        const pictures = [...result.querySelectorAll('img')];
        const full = pictures.length ? pictures.every(p => p.complete && p.naturalWidth) : !!result.textContent.trim();
        return full && (pictures.length ? pictures.map(p => p.src).join() : result.textContent);
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
        cell.addEventListener('keydown', () => { start = performance.now(); }, { once: true, capture: true });
    });
}"""
# The number of frames in which nothing is shown, until the promise is read.
WATCH = """() => {
    let blank = 0;
    window.watching_ = true;
    const look = () => {
        if (!window.state_()) blank += 1;
        window.blank_ = blank;
        if (window.watching_) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}"""


def measure(page, cell):
    """Milliseconds of each press, and the number of frames without a result in a few more presses."""
    times = []
    cell.scroll_into_view_if_needed()
    cell.locator(".noUi-handle, input[type=range]").first.focus()
    for _ in range(WARM_UP + PRESSES):
        cell.evaluate(PRESS)
        page.keyboard.press("ArrowRight")
        times.append(page.evaluate("() => window.answer_"))
        page.wait_for_timeout(200)  # as a person would, who looks between two presses
    page.evaluate(WATCH)
    for _ in range(PRESSES // 3):
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(250)
    blank = page.evaluate("() => { window.watching_ = false; return window.blank_ }")
    return times[WARM_UP:], blank


def p95(numbers):
    return statistics.quantiles(numbers, n=20)[-1]


def main():
    if chromium() is None:
        raise SystemExit(f"To run this, {HOW_TO_GET_IT}.")
    named = [*ways(), *sizes()]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SETUP)])
    notebook.cells += [nbformat.v4.new_code_cell(code) for _, code in named]
    notebook.cells.append(nbformat.v4.new_code_cell("print('spent', json.dumps(spent))"))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=SWITCHES)
        lab = Lab(Path(folder))
        nbformat.write(notebook, lab.root / "notebooks" / "bench.ipynb")
        try:
            page = Page(browser, lab, "bench.ipynb", run=False)
            command = "() => window.jupyterapp.commands.execute"
            page.page.evaluate(f"{command}('notebook:run-all-cells')")
            page.page.wait_for_timeout(2000)
            places = page.explores()
            shown = len(places) + len(page.page.locator(".widget-interact").all())
            assert shown >= len(named) - 1, page.errors  # a film has no widget
            all_cells = page.page.locator(".jp-CodeCell")
            cell_of = {name: all_cells.nth(n + 1) for n, (name, _) in enumerate(named)}
            rounds = [{name: measure(page.page, cell_of[name]) for name, _ in ways()} for _ in range(ROUNDS)]
            results = {
                name: ([t for turn in rounds for t in turn[name][0]], sum(turn[name][1] for turn in rounds))
                for name, _ in ways()
            }
            results |= {name: measure(page.page, cell_of[name]) for name, _ in sizes()}
            page.page.evaluate(f"{command}('notebook:run-cell')")
            page.page.evaluate(
                "() => { const n = window.jupyterapp.shell.currentWidget.content;"
                " n.activeCellIndex = n.widgets.length - 1; }"
            )
            page.page.evaluate(f"{command}('notebook:run-cell')")
            page.page.wait_for_timeout(1000)
            text = all_cells.last.locator(".jp-OutputArea").inner_text()
            spent = json.loads(text[text.index("{") :])
            report(results, rounds, spent, browser.version)
        finally:
            lab.stop()
            browser.close()


def report(results, rounds, spent, version):
    kernel = {name: [1000 * seconds for seconds in times[WARM_UP:]] for name, times in spent.items()}
    middle = {name: statistics.median(times) for name, (times, _) in results.items()}
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"JupyterLab {jupyterlab.__version__}, ipywidgets {ipywidgets.__version__}, "
        f"matplotlib {matplotlib.__version__}, Chromium {version}; milliseconds, "
        f"{ROUNDS} rounds of {PRESSES} presses each for the ways, one for the sizes"
    )
    print("\n| what moves | median | 95 % | of it in the kernel | frames without a result | ratio |")
    print("|:--|--:|--:|--:|--:|--:|")
    lines = {
        "a": ("(a) 6 x 6 heatmap, `interact` with `plt.show()`", ""),
        "b": ("(b) 6 x 6 heatmap, `explore`", f"{middle['a'] / middle['b']:.1f} times faster than (a)"),
        "e": ("the same as a film, without the kernel", f"{middle['a'] / middle['e']:.1f} times faster than (a)"),
        "c": ("(c) bars and line, made once, `explore`", f"{middle['d'] / middle['c']:.1f} times faster than (d)"),
        "c2": ("(c) drawn anew each time", f"{middle['d'] / middle['c2']:.1f} times faster than (d)"),
        "d": ("(d) bars and line, `interact` with `plt.show()`", ""),
    }
    for name, (what, ratio) in lines.items():
        times, blank = results[name]
        share = statistics.median(kernel.get(name, [0]))
        print(f"| {what} | {middle[name]:.0f} | {p95(times):.0f} | {share:.1f} | {blank} | {ratio} |")
    of_rounds = [statistics.median(turn["a"][0]) / statistics.median(turn["b"][0]) for turn in rounds]
    print(f"\n(b) against (a), round by round: {', '.join(f'{ratio:.1f}' for ratio in of_rounds)}")
    print("\n| T | heatmap in `explore` | of it in the kernel | the same as a picture, `interact` |")
    print("|--:|--:|--:|--:|")
    for size in SIZES:
        share = statistics.median(kernel[f"T{size}"])
        print(f"| {size} | {middle[f'T{size}']:.0f} | {share:.1f} | {middle[f'I{size}']:.0f} |")


if __name__ == "__main__":
    main()
