"""What the tests of the notebooks read: the lessons, their cells and their stored outputs."""

import json
import re
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d*(?:e[+-]\d+)?")


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


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
