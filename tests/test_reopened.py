"""A lesson's sliders after the page was loaded anew, in a second tab, after a restart and on the next day."""

import nbformat
import pytest
from browser import Page
from lessons import LESSONS, code_cells, read
from refresh import METADATA

TABLE = """
from helpers import explore, heatmap

def table(step=2):
    return heatmap([[0.5, step / 10], [0.1, 0.2]], ["a", "b"], title=f"Step {step}")

explore(table, step=(0, 5))
"""


@pytest.fixture
def saved(browser, lab, request):
    """A notebook with sliders, run, moved on to step 3 and saved with its widgets."""
    name = f"{request.node.name}.ipynb"
    cells = [nbformat.v4.new_code_cell(source) for source in (code_cells(read(LESSONS[0]))[0].source, TABLE)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=METADATA), lab.root / "notebooks" / name)
    page = Page(browser, lab, name)
    press(page, "ArrowRight", "3")
    page.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.name = name
    yield page
    page.close()


def press(page, key, step):
    """Press a key on the slider: within a second its number and the table agree."""
    handle = page.page.locator(".explore-live .noUi-handle")
    handle.wait_for()
    handle.focus()
    page.page.keyboard.press(key)
    agrees(page, step)


def agrees(page, step, seconds=1):
    page.page.locator(".widget-readout", has_text=step).wait_for(timeout=10_000)
    page.page.locator(".explore-live caption", has_text=f"Step {step}:").wait_for(timeout=1000 * seconds)
    assert page.page.locator("caption:visible").count() == 1


def test_after_a_reload_the_result_follows(saved):
    saved.page.reload()
    press(saved, "ArrowRight", "4")
    assert saved.page.locator(".noUi-handle").get_attribute("aria-label") == "step"
    assert saved.page.locator(".explore-line:visible").count() == 0


def test_a_tab_closed_and_opened_again_follows(browser, lab, saved):
    saved.page.close()
    again = Page(browser, lab, saved.name, run=False)
    press(again, "ArrowLeft", "2")
    again.close()


def test_a_second_tab_shows_what_the_first_does(browser, lab, saved):
    second = Page(browser, lab, saved.name, run=False)
    press(second, "ArrowRight", "4")
    agrees(saved, "4", seconds=5)
    press(saved, "ArrowRight", "5")
    agrees(second, "5", seconds=5)
    second.page.close()


def test_after_a_restart_the_sliders_are_out_of_order_and_a_line_says_so(saved):
    saved.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    box = saved.page.locator(".explore-live.jupyter-widgets-disconnected")
    box.wait_for()
    saved.page.wait_for_function("() => document.querySelector('.explore-live').inert")
    assert "Run this cell again" in box.evaluate("node => getComputedStyle(node, '::after').content")
    saved.command("notebook:run-all-cells")
    saved.page.locator(".explore-live:not(.jupyter-widgets-disconnected)").wait_for()
    press(saved, "ArrowRight", "3")


def test_on_the_next_day_a_line_says_to_run_the_cell(browser, lab, saved):
    saved.page.wait_for_timeout(500)
    saved.close()  # and its kernel
    later = Page(browser, lab, saved.name, run=False)
    line = later.page.locator(".explore-line")
    line.wait_for()
    later.page.wait_for_timeout(3000)  # as long as it takes to look for the widgets
    assert "Run this cell" in line.inner_text()
    assert later.page.get_by_text("model not found").locator("visible=true").count() == 0
    assert later.page.locator(".noUi-handle").count() == 0
    later.command("notebook:run-all-cells")
    press(later, "ArrowRight", "3")
    later.close()
