"""What the tests of the notebooks read: the lessons, their cells and their stored outputs."""

import ast
import json
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LONGEST_LINE = 80  # of code that a learner reads, as in notebooks/.ruff.toml


def is_whole(path):
    """Whether the file can be read and has cells: a broken one fails a test of its own, and stops no other."""
    try:
        return bool(json.loads(path.read_text(encoding="utf-8"))["cells"])
    except (ValueError, KeyError, TypeError):
        return False


LESSONS = [path for path in NOTEBOOKS if is_whole(path)]
every_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d*(?:e[+-]\d+)?")


def read(path):
    return nbformat.read(path, as_version=4)


def lesson(name):
    """The path of the lesson that is called so, without its ending."""
    path = ROOT / "notebooks" / f"{name}.ipynb"
    return path if path in LESSONS else pytest.fail(f"notebooks/{path.name} is missing or broken")


def cell_of(path, name):
    """The cell of a lesson with this id."""
    found = [cell for cell in read(path).cells if cell.id == name]
    return (
        found[0] if found else pytest.fail(f"{path.name} has no cell with the id {name}: add it, or give the id back")
    )


def markdown(notebook):
    """The text cells."""
    return [cell for cell in notebook.cells if cell.cell_type == "markdown"]


def headings(text):
    """(level, text) of each heading of a Markdown text."""
    return [(len(level), heading) for level, heading in re.findall(r"^(#+) (.*)", text, re.MULTILINE)]


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def parsed(cell):
    """The tree of a code cell."""
    try:
        return ast.parse(cell.source)
    except SyntaxError as error:
        pytest.fail(f"{cell.id}: this is no Python: {error}")


def sources(name):
    """Cell id -> code, of the lesson that is called so."""
    return {cell.id: cell.source for cell in code_cells(read(lesson(name)))}


def definitions(name, *cells, **known):
    """The functions and classes of cells of a lesson, and what they lean on; two empty lines set them apart."""
    import torch

    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, **known}
    for cell in cells:
        parts = sources(name)[cell].split("\n\n\n")
        exec("\n\n\n".join(part for part in parts if part.startswith(("def ", "class "))), names)
    return names


def outputs(notebook):
    """(cell id, output) for each stored output."""
    return [(cell.id, output) for cell in code_cells(notebook) for output in cell.outputs]


def plain_text(output):
    return output.text if output.output_type == "stream" else output.get("data", {}).get("text/plain", "")


def numbers(text):
    """The decimal numbers in a text, in the order of the page. Whole numbers count as labels."""
    return [float(number) for number in NUMBER.findall(text)]


def expected_values():
    return json.loads((ROOT / "tests" / "expected_values.json").read_text(encoding="utf-8"))
