"""A wrong notebook does not pass: each kind of tampering with a stored output makes its cell fail, and no other."""

import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from figures import MATPLOTLIB, drawn_by, pictures
from lessons import ROOT, code_cells, read

LESSON, DIES, MARKED = "02_softmax.ipynb", "dies.ipynb", "marked.ipynb"
CELLS = {cell.id: cell for cell in code_cells(read(ROOT / "notebooks" / LESSON))}
COMPARABLE = drawn_by(pictures(CELLS["curves"].outputs)[0]) == MATPLOTLIB


def without_lessons(project):
    """Copy what tests lessons, and what they lean on, into a folder."""
    for name in ("helpers", "tests", "tools"):
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, project)
    (project / "notebooks").mkdir()


def change_digit(text, number):
    """The text with the last digit of `number` raised by one."""
    assert number in text
    return text.replace(number, number[:-1] + str((int(number[-1]) + 1) % 10), 1)


def tamper(cells):
    """Damage one output each, and tell what was done to which cell."""
    cells["by-sum"].outputs[0].text = change_digit(cells["by-sum"].outputs[0].text, "0.1455")
    data = cells["shift-scale"].outputs[0].data
    data["text/html"] = change_digit(data["text/html"], ">0.5420")
    data = cells["shift-scale-control"].outputs[0].data
    data["text/plain"] = change_digit(data["text/plain"], "0.1727")
    data = cells["temperature"].outputs[0].data
    data["text/html"] = re.sub(r"background-color: rgb\(\d+", "background-color: rgb(99", data["text/html"], count=1)
    cells["naive"].outputs = []
    cells["break"].outputs, cells["break"].execution_count = [], None
    data = cells["explore"].outputs[0].data
    data["text/html"] = change_digit(data["text/html"], "temperature 1000.000")  # of the last frame
    other = {cell.id: cell for cell in code_cells(read(ROOT / "notebooks" / "03_context_vectors.ipynb"))}["convex"]
    cells["curves"].outputs[0].data["image/png"] = other.outputs[0].data["image/png"]
    data = cells["all-rows"].outputs[0].data
    data["text/html"] = data["text/html"].replace(">journey<", ">starts<", 1)
    cells["keepdim"].outputs[0].text = cells["keepdim"].outputs[0].text.replace("True", "False", 1)
    damage = {
        "by-sum": "a digit in text",
        "shift-scale": "a digit in a heatmap's table",
        "shift-scale-control": "a digit in a heatmap's text",
        "temperature": "a colour in a heatmap",
        "naive": "an output cleared",
        "break": "a whole cell cleared",
        "explore": "a number in a frame of a film",
        "curves": "a figure swapped",
        "all-rows": "a label changed",
        "keepdim": "a verdict turned round",
    }
    if not COMPARABLE:
        del damage["curves"]
    return damage


SHARE = 'print(f"share {0.52:.2f}")  # give or take 0.05'
# What is wrong with a cell that has a marked line, what it prints, and what is stored.
MARKED_CELLS = [
    (None, SHARE, "share 0.52\n"),
    (None, SHARE, "share 0.57\n"),
    (None, SHARE, "share 0.47\n"),
    ("too far off", SHARE, "share 0.58\n"),
    ("another word", SHARE, "part 0.52\n"),
    ("no number", SHARE, "share\n"),
    ("a line more", SHARE, "share 0.52\nshare 0.52\n"),
    ("a line less", SHARE + '\nprint("more")', "share 0.52\n"),
    ("an exact number", 'print(f"{0.521:.2f}")\n' + SHARE, "0.53\nshare 0.52\n"),
    ("not a number", SHARE.replace("0.52", "float('nan')"), "share 0.52\n"),
    ("not a number either", SHARE.replace("0.52", "float('nan')"), "share nan\n"),
    ("a mark without a number", 'print("share")  # give or take 0.05', "share\n"),
    ("a mark on a print that does not run", f"if False:\n    {SHARE}\nprint('share')", "share\n"),
]


def write_marked_cells(path):
    cells = [
        nbformat.v4.new_code_cell(source, execution_count=1, outputs=[nbformat.v4.new_output("stream", text=stored)])
        for _, source, stored in MARKED_CELLS
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Cell id -> whether it passed, in a run of the tampered lesson; and what was tampered with."""
    project = tmp_path_factory.mktemp("project")
    without_lessons(project)
    notebook = read(ROOT / "notebooks" / LESSON)
    cells = code_cells(notebook)
    damage = tamper({cell.id: cell for cell in cells})
    nbformat.write(notebook, project / "notebooks" / LESSON)
    cells_that_die = [
        nbformat.v4.new_code_cell(code, execution_count=1) for code in ("import os; os._exit(1)", "1 + 1")
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells_that_die), project / "notebooks" / DIES)
    write_marked_cells(project / "notebooks" / MARKED)
    # Started in notebooks/, as a maintainer might.
    options = ["-rA", "--color=no", "--durations=0", "--durations-min=0"]
    command = [sys.executable, "-m", "pytest", LESSON, DIES, MARKED, *options]
    run = subprocess.run(command, cwd=project / "notebooks", capture_output=True, encoding="utf-8")
    verdicts = re.findall(rf"^(PASSED|FAILED) \S*{LESSON}::Cell (\d+)", run.stdout, re.MULTILINE)
    assert len(verdicts) == len(cells), run.stdout + run.stderr
    return {cells[int(number)].id: verdict == "PASSED" for verdict, number in verdicts}, damage, run


def test_each_tampered_cell_fails_and_no_other(outcome):
    passed, damage, run = outcome
    unnoticed = {name: what for name, what in damage.items() if passed[name]}
    assert not unnoticed
    assert {name for name, fine in passed.items() if not fine} == set(damage)
    assert run.returncode == 1


def test_the_reader_is_told_how_to_store_outputs(outcome):
    assert outcome[2].stdout.count("python tools/refresh.py") >= 1 + COMPARABLE


def test_the_number_of_compared_figures_is_printed(outcome):
    compared = int(COMPARABLE)
    assert f"figures compared with the stored ones: {compared} of 1" in outcome[2].stdout
    assert ("NOT compared" in outcome[2].stdout) is not COMPARABLE


def test_a_kernel_that_dies_fails_its_cell_at_once_and_holds_up_none_of_the_rest(outcome):
    told = outcome[2].stdout
    assert len(re.findall(rf"^FAILED {DIES}::Cell [01]", told, re.MULTILINE)) == 2
    assert "The kernel died while this cell ran." in told
    (seconds,) = re.findall(rf"^([\d.]+)s call +\S*{DIES}::Cell 0", told, re.MULTILINE)
    assert float(seconds) < 20  # the cell's own time is 120


@pytest.mark.parametrize("number", range(len(MARKED_CELLS)), ids=[str(what) for what, _, _ in MARKED_CELLS])
def test_a_marked_line_has_room_for_its_numbers_and_for_nothing_else(outcome, number):
    verdict = "FAILED" if MARKED_CELLS[number][0] else "PASSED"
    assert re.search(rf"^{verdict} {MARKED}::Cell {number}\b", outcome[2].stdout, re.MULTILINE), outcome[2].stdout
