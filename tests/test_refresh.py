"""Storing outputs on purpose: an unchanged lesson gives an empty diff, and nothing of the machine gets in."""

import shutil
import subprocess

import nbformat
import pytest
import refresh
from figures import MATPLOTLIB, drawn_by, pictures
from lessons import ROOT, outputs, read
from nbclient.exceptions import CellExecutionError

LESSON = "02_softmax.ipynb"  # has text, heatmaps, a figure and sliders


@pytest.fixture
def project(tmp_path):
    """A copy of the project with the one lesson, under version control."""
    shutil.copytree(ROOT / "helpers", tmp_path / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / LESSON, tmp_path / "notebooks")
    return tmp_path


def git(project, *words):
    settings = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *settings, *words], cwd=project, check=True, capture_output=True, encoding="utf-8"
    ).stdout


def test_refreshing_an_unchanged_lesson_leaves_git_diff_empty(project):
    path = project / "notebooks" / LESSON
    if drawn_by(pictures([dict(outputs(read(path)))["curves"]])[0]) != MATPLOTLIB:
        refresh.refresh(path)  # figures of another matplotlib are drawn anew, once
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "before")
    assert refresh.refresh(path) is False
    assert git(project, "diff") == ""


def write(path, *sources):
    cells = [nbformat.v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(sources)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_a_changed_cell_gets_its_new_output_without_traces_of_the_machine(project):
    path = write(
        project / "notebooks" / "new.ipynb",
        "import sys; sys.path.insert(0, '..')\nfrom helpers import check_environment, explore\ncheck_environment()",
        "explore(lambda n=1: f'n is {n}', n=(0, 5))",
        "6 * 7",
    )
    assert refresh.refresh(path) is True
    notebook = read(path)
    assert [cell.execution_count for cell in notebook.cells] == [1, 2, 3]
    assert notebook.metadata == refresh.METADATA
    stored = [output for _, output in outputs(notebook)]
    assert stored[0].text.startswith("Interpreter: (the path on your machine)\nPython:      3.x\n")
    assert "widget-view" not in str(stored)
    assert stored[-1].data["text/plain"] == "42"
    assert all(set(cell.metadata) <= set(refresh.KEPT_OF_CELLS) for cell in notebook.cells)


def test_a_lesson_that_raises_is_left_as_it_was(project):
    path = write(project / "notebooks" / "broken.ipynb", "print('fine')", "1 / 0")
    before = path.read_bytes()
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        refresh.refresh(path)
    assert path.read_bytes() == before


def test_a_figure_is_kept_where_it_looks_the_same_and_replaced_where_not():
    by_id = dict(outputs(read(ROOT / "notebooks" / LESSON)))
    curves = by_id["curves"]
    other = dict(outputs(read(ROOT / "notebooks" / "03_context_vectors.ipynb")))["convex"]
    assert pictures([curves]) != pictures([other])

    new = [nbformat.from_dict({"output_type": "display_data", "data": {"image/png": curves.data["image/png"] + "\n"}})]
    refresh.keep_pictures(new, [curves])
    assert new[0].data["image/png"] == curves.data["image/png"]

    new = [nbformat.from_dict({"output_type": "display_data", "data": {"image/png": other.data["image/png"]}})]
    refresh.keep_pictures(new, [curves])
    assert new[0].data["image/png"] == other.data["image/png"]


def test_a_number_with_a_tolerance_is_kept_where_it_is_within_and_replaced_where_not():
    def stored(text, source):
        output = nbformat.v4.new_output("stream", text="share 0.50\n")
        cell = nbformat.v4.new_code_cell(source, outputs=[nbformat.v4.new_output("stream", text=text)])
        notebook = nbformat.v4.new_notebook(cells=[cell])
        refresh.normalise(notebook, {cell.id: [output]})
        return notebook.cells[0].outputs[0].text

    marked = 'print(f"share {share:.2f}")  # give or take 0.05'
    assert stored("share 0.54\n", marked) == "share 0.50\n"
    assert stored("share 0.56\n", marked) == "share 0.56\n"
    assert stored("share 0.54\n", 'print(f"share {share:.2f}")') == "share 0.54\n"
