"""What learners do: run a cell twice, go back to earlier cells, start in the middle, stop a cell, open two lessons."""

import asyncio
import copy
import re
import subprocess

import pytest
from lessons import LESSONS, code_cells, lesson, read
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbclient.util import run_sync
from nbformat.v4 import new_code_cell, new_notebook
from refresh import in_folder, normalise
from test_launch import shown

SHORT_TRACEBACK, LONGEST_TRACEBACK = 15, 30  # lines; the longest where one function of a cell has called another
# As %reset does, which takes ten times as long.
FORGET = """
for _name in list(globals()):
    if _name[0] != "_" and _name not in ("In", "Out", "get_ipython", "exit", "quit"):
        del globals()[_name]
"""
AT_ONCE = "01_dot_product_scores"  # the lesson that stands for all of them where a change is tested
every_lesson = pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[] if path.stem == AT_ONCE else pytest.mark.weekly) for path in LESSONS],
)


class Kernel(NotebookClient):
    """A kernel that was started in `notebooks` and runs cells one by one, in whatever order."""

    def __init__(self, notebook=None):
        self.stop_next = False
        super().__init__(notebook or new_notebook(), **in_folder(LESSONS[0].parent))

    def running(self):
        """A context with the kernel running; its own log is dropped."""
        return self.setup_kernel(stderr=subprocess.DEVNULL)

    def open(self, path):
        """Take up another lesson, as in a new kernel, but for what is imported: a new one takes most of the time."""
        self.nb = read(path)
        self._display_id_map = {}  # says where in the lesson before an output is
        self.forget()
        return self.nb

    def forget(self):
        """Drop all that cells have defined."""
        self.nb.cells.append(new_code_cell(FORGET))
        self.run(self.nb.cells[-1])
        del self.nb.cells[-1]

    def run(self, cell):
        """Run a cell of the notebook; return what it raises, or None."""
        try:
            self.execute_cell(cell, self.nb.cells.index(cell))
        except CellExecutionError as error:
            return error
        return None

    def run_and_stop(self, cell):
        """Run a cell and interrupt it, as the button in JupyterLab does, at its first output; return what it raises."""
        self.stop_next = True
        return self.run(cell)

    def process_message(self, message, *arguments):
        """Called by nbclient for each message from the kernel."""
        if self.stop_next and message["msg_type"] == "stream":
            self.stop_next = False
            self.stopping = asyncio.ensure_future(self.km.interrupt_kernel())
        return super().process_message(message, *arguments)


@pytest.fixture(scope="module")
def kernel():
    kernel = Kernel()
    with kernel.running():
        yield kernel


def now(notebook):
    """What the cells showed when they ran last, as it would be stored."""
    notebook = copy.deepcopy(notebook)
    normalise(notebook, {})
    return shown(notebook)


def changed(notebook, stored):
    """Cell id -> what it shows now and what is stored, where they differ."""
    seen = now(notebook)
    return {name: (seen[name], stored[name]) for name in stored if seen[name] != stored[name]}


@every_lesson
def test_each_cell_run_twice_shows_the_same_and_afterwards_each_runs_again_from_last_to_first(kernel, path):
    notebook = kernel.open(path)
    stored = shown(notebook)
    for cell in code_cells(notebook):
        assert kernel.run(cell) is None, cell.id
        assert kernel.run(cell) is None, cell.id
    assert changed(notebook, stored) == {}
    failed = {cell.id: error.evalue for cell in reversed(code_cells(notebook)) if (error := kernel.run(cell))}
    assert failed == {}, "a later cell has given one of its names to something else"


@pytest.mark.weekly
def test_a_cell_run_before_those_that_it_needs_says_shortly_what_is_missing():
    kernel = Kernel()
    raised, lengths = [], []
    with kernel.running():
        for path in LESSONS:
            earlier = ""
            for cell in code_cells(kernel.open(path))[1:]:  # without the set-up cell
                kernel.forget()
                if error := kernel.run(cell):
                    where, text = f"{path.stem}, {cell.id}", str(error.evalue)
                    missing = re.fullmatch(r"No module named '(helpers)'|name '(\w+)' is not defined", text)
                    assert missing, f"{where}: {error.ename}: {text}"
                    assert missing[1] or re.search(rf"\b{missing[2]}\b", earlier), f"{where}: where is {missing[2]}?"
                    length = len("\n".join(cell.outputs[-1].traceback).splitlines())
                    assert length <= LONGEST_TRACEBACK, f"{where}: {length} lines"
                    lengths.append(length)
                    raised.append(error.ename)
                earlier += cell.source
    assert sum(length > SHORT_TRACEBACK for length in lengths) < len(lengths) / 20
    assert raised.count("ModuleNotFoundError") >= len(LESSONS)
    assert raised.count("NameError") > 4 * len(LESSONS)


def test_a_training_that_was_stopped_can_be_run_again(kernel):
    notebook = kernel.open(lesson("08_training"))
    stored = shown(notebook)
    cells = {cell.id: cell for cell in code_cells(notebook)}
    for cell in list(cells.values())[: list(cells).index("controls")]:
        assert kernel.run(cell) is None
    for _ in range(2):
        assert kernel.run_and_stop(cells["controls"]).ename == "KeyboardInterrupt"
    assert kernel.run(cells["controls"]) is None
    assert now(notebook)["controls"] == stored["controls"]


def test_two_lessons_at_the_same_time_show_what_each_shows_alone():
    lessons = [read(LESSONS[number]) for number in (2, 3)]
    stored = [shown(lesson) for lesson in lessons]

    async def both():
        await asyncio.gather(*(Kernel(lesson).async_execute(stderr=subprocess.DEVNULL) for lesson in lessons))

    run_sync(both)()  # as nbclient does: asyncio.run takes another loop on Windows
    assert [changed(*pair) for pair in zip(lessons, stored, strict=True)] == [{}, {}]
