"""How the lessons are tested: by strict nbval, and by what it leaves out, so that no wrong output passes.

nbval compares text. Added here are figures, numbers with a tolerance (tools/tolerance.py), cells that were never run, a
kernel that dies, and the solved exercises.
"""

import importlib
import math
from collections import defaultdict
from pathlib import Path
from queue import Empty

import nbformat
import pytest
from figures import MATPLOTLIB, TOLERANCE, difference, drawn_by, pictures
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile, coalesce_streams
from tolerance import MARK, marked, settled


def pytest_configure(config):
    # The path in pyproject.toml is relative to the project, but pytest may be started in notebooks/.
    given = config.option.nbval_sanitize_with
    if given and not Path(given).is_file():
        config.option.nbval_sanitize_with = str(config.rootpath / given)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    collected = yield
    return [Lesson.from_parent(parent, path=file_path) if isinstance(one, IPyNbFile) else one for one in collected]


class Kernel(RunningKernel):
    """nbval's kernel, which tells at once that it has died: nbval would wait until the cell's time is up."""

    def get_message(self, stream, timeout=None):
        """The next message. Raises Empty where none comes in time, and RuntimeError where none can come any more."""
        left = math.inf if timeout is None else timeout
        while True:
            try:
                return super().get_message(stream, timeout=min(left, 1))
            except Empty:
                left -= 1
                if not self.is_alive():
                    raise RuntimeError("The kernel died while this cell ran.") from None
                if left <= 0:
                    raise


class Lesson(IPyNbFile):
    """nbval's cells of a lesson, and behind them its solved exercises, in the same kernel."""

    def setup(self):
        """Start the kernel, of the Python that runs pytest."""
        self.kernel = Kernel(CURRENT_ENV_KERNEL_NAME, cwd=str(self.path.parent))
        self.setup_sanitize_files()

    def collect(self):
        """The cells, then the solved exercises where the lesson has any."""
        for cell in super().collect():
            cell.output_timeout = 60  # nbval would give up on an output after 5 s, which a busy machine may need
            if MARK in cell.cell.source:
                cell.options["check"] = False  # compared in compare_numbers
            yield cell
        of_exercises = [cell for cell in self.nb.cells if cell.id.startswith("exercise-") or cell.id == "progress"]
        cells = [cell for cell in of_exercises if cell.cell_type == "code"]
        if cells:
            yield Solved.from_parent(self, name="solved exercises", cells=cells)


class Solved(IPyNbCell):
    """Every exercise with its solution in place of the answer, and its check, run as one cell."""

    def __init__(self, name, parent, cells):
        self.cells = cells
        cell = nbformat.v4.new_code_cell(execution_count=1)
        super().__init__(name, parent, cell_num=name, cell=cell, options=defaultdict(bool))

    def runtest(self):
        """Fail where a check does not accept its solution."""
        exercises = importlib.import_module(f"helpers.exercises.lesson_{self.path.name[:2]}").exercise.all
        solutions = {f"exercise-{name.replace('_', '-')}-answer": each.code for name, each in exercises.items()}
        self.cell.source = "\n\n".join(solutions.get(cell.id, cell.source) for cell in self.cells)
        super().runtest()
        said = "".join(output.get("text", "") for output in self.test_outputs)
        count = len(exercises)
        if f"{count} of {count} solved so far: {', '.join(exercises)}." not in said:
            self.raise_cell_error(f"With its solution, not every exercise is solved:\n{said}")

    def reportinfo(self):
        """Where the lesson is: a name instead of a cell's number."""
        return self.path, 0, self.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if not isinstance(item, IPyNbCell):
        return (yield)
    result = yield
    if item.cell.execution_count is None:  # nbval passes a cell whose outputs were cleared
        item.raise_cell_error("This cell has no stored outputs. Store them: python tools/refresh.py")
    if MARK in item.cell.source:
        compare_numbers(item)
    compare_figures(item)
    return result


def compare_numbers(item):
    """Fail where a marked number is further from the stored one than its tolerance, or anything else differs."""
    stored = coalesce_streams(item.cell.outputs)
    try:
        fresh, patterns = settled(item.cell.source, stored, item.test_outputs), marked(item.cell.source)
    except ValueError as error:
        item.raise_cell_error(str(error))
    if not item.compare_outputs(fresh, stored):
        item.raise_cell_error("Cell outputs differ", "\n".join(item.comparison_traceback))
    lines = "".join(output.get("text", "") for output in stored).splitlines()
    for pattern, _ in patterns:
        if not any(map(pattern.fullmatch, lines)):
            item.raise_cell_error(f"A print is marked, but no stored line is its own: {pattern.pattern}")


def compare_figures(item):
    """Fail where a figure of the cell is missing, is one too many, or looks different from the stored one."""
    stored, drawn = pictures(item.cell.outputs), pictures(item.test_outputs)
    if len(stored) != len(drawn):
        item.raise_cell_error(f"{len(stored)} figures are stored, but the cell draws {len(drawn)}")
    for number, (old, new) in enumerate(zip(stored, drawn, strict=True), start=1):
        version = drawn_by(old)
        if version is None:
            item.raise_cell_error(f"Figure {number} does not say which matplotlib drew it: python tools/refresh.py")
        comparable = version == MATPLOTLIB
        item.user_properties.append(("figure", None if comparable else version))
        far = difference(old, new) if comparable else 0
        if far > TOLERANCE:
            item.raise_cell_error(
                f"Figure {number} differs from the stored one: root mean square {far:.1f} of 255, "
                f"more than {TOLERANCE}. If it should: python tools/refresh.py, and look at it"
            )


def pytest_terminal_summary(terminalreporter):
    skipped = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])]
    for reason in sorted(set(skipped)):
        terminalreporter.line(
            f"NOT run: {skipped.count(reason)} tests. {reason.removeprefix('Skipped: ')}", yellow=True
        )
    reports = [r for group in terminalreporter.stats.values() for r in group if getattr(r, "when", None) == "call"]
    versions = [value for report in reports for name, value in report.user_properties if name == "figure"]
    if versions:
        terminalreporter.line(f"figures compared with the stored ones: {versions.count(None)} of {len(versions)}")
    for version in sorted({str(version) for version in versions if version is not None}):
        terminalreporter.line(
            f"NOT compared: figures stored by matplotlib {version}; the one here, {MATPLOTLIB}, draws differently",
            yellow=True,
        )
