"""Storing outputs on purpose: an unchanged lesson gives an empty diff, and nothing of the machine gets in."""

import base64
import io
import shutil
import subprocess

import nbformat
import pytest
import refresh
from figures import MATPLOTLIB, drawn_by, pictures
from lessons import ROOT, outputs, read
from nbclient.exceptions import CellExecutionError
from PIL import Image
from PIL.PngImagePlugin import PngInfo

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


def test_a_first_line_gives_a_cell_its_id_and_is_taken_out(project):
    path = write(project / "notebooks" / "new.ipynb", "# id: answer\n6 * 7", "# identity: none\n1")
    notebook = read(path)
    notebook.cells.append(nbformat.v4.new_markdown_cell("<!-- id: answer-read -->\n\nIt is 42.", id="1a2b3c4d"))
    nbformat.write(notebook, path)
    refresh.refresh(path)
    found = [(cell.id, cell.source) for cell in read(path).cells]
    assert found == [("answer", "6 * 7"), ("cell-1", "# identity: none\n1"), ("answer-read", "It is 42.")]


def committed(project, *sources):
    """A lesson of these cells, refreshed and committed."""
    path = write(project / "notebooks" / "new.ipynb", *sources)
    refresh.refresh(path)
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "before")
    return path


DRAW = """
import io
from IPython.display import Image
from matplotlib.figure import Figure
buffer = io.BytesIO()
Figure(figsize=(2, 2)).savefig(buffer)
Image(buffer.getvalue())
"""


def test_what_jupyterlab_saved_after_a_run_is_compared_with_what_is_committed(project):
    path = committed(project, "1 + 1", DRAW)
    notebook = read(path)
    notebook.metadata["widgets"] = {}
    first, second = notebook.cells
    first.execution_count = first.outputs[0].execution_count = 7
    second.outputs[0].data["image/png"] = stored_again(second.outputs)
    nbformat.write(notebook, path)
    assert refresh.refresh(path) is True
    assert git(project, "diff") == ""


def stored_again(drawn, software=None):
    """The one picture in other bytes, as another machine stores it, or as another matplotlib would."""
    image = Image.open(io.BytesIO(*pictures(drawn)))
    info, buffer = PngInfo(), io.BytesIO()
    info.add_text("Software", software or image.info["Software"])
    image.save(buffer, "png", pnginfo=info, compress_level=1)
    return base64.b64encode(buffer.getvalue()).decode()


def test_a_figure_of_another_matplotlib_is_drawn_anew_even_where_it_looks_the_same(project, capsys):
    path = committed(project, DRAW)
    fresh, notebook = path.read_text(encoding="utf-8"), read(path)
    (output,) = notebook.cells[0].outputs
    output.data["image/png"] = stored_again([output], "Matplotlib version3.1.2, https://matplotlib.org/")
    nbformat.write(notebook, path)
    git(project, "commit", "-q", "-a", "-m", "old figure")
    assert refresh.refresh(path) is True
    assert capsys.readouterr().out == f"new.ipynb: its figures, drawn by 3.1, are drawn anew by {MATPLOTLIB}\n"
    assert path.read_text(encoding="utf-8") == fresh


@pytest.mark.parametrize(
    ("order", "counts"),
    [
        ("0 1 2 3", [1, 2, 3, 4]),
        ("0 1 new also 2 3", [1, 2, 3, 3, 3, 4]),
        ("new 0 1 2 3 also", [1, 1, 2, 3, 4, 5]),
        ("0 2 3", [1, 3, 4]),
        ("0 new 2 3", [1, 2, 3, 4]),
        ("1 0 2 3", [1, 2, 3, 4]),  # in another order: counted again
    ],
)
def test_the_other_cells_keep_their_execution_counts(order, counts):
    cells = [nbformat.v4.new_code_cell("1", id=f"cell-{name}") for name in order.split()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    refresh.normalise(notebook, {})
    refresh.keep_counts(notebook, {f"cell-{n}": n + 1 for n in range(4)})
    assert [cell.execution_count for cell in notebook.cells] == counts


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
