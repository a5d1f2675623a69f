"""A lesson gives its stored outputs wherever it is started, and by whatever starts it."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from lessons import ROOT, code_cells, read
from refresh import normalise

LESSON = "00_start_here.ipynb"  # the quickest
STORED = read(ROOT / "notebooks" / LESSON)


def shown(notebook):
    """Cell id -> what the cell shows, as text. Pictures are left to nbval."""
    return {
        cell.id: [
            output.get("text") or {kind: data for kind, data in output.data.items() if kind != "image/png"}
            for output in cell.outputs
        ]
        for cell in code_cells(notebook)
    }


@dataclass
class Copies:
    """Where the tests start lessons: `project`, a copy of the project; the folder `above` it; one `elsewhere`."""

    above: Path
    project: Path
    elsewhere: Path

    def launch(self, starter, folder, project=None):
        """Run the lesson with the kernels of this Python only; return the process and where the result should be."""
        lesson = (project or self.project) / "notebooks" / LESSON
        result = self.elsewhere / "result.ipynb"
        result.unlink(missing_ok=True)
        commands = {
            "nbconvert": ["nbconvert", "--execute", "--to", "notebook", "--output", result, lesson],
            "papermill": ["papermill", "--no-progress-bar", lesson, result],
        }
        nowhere = {
            name: str(self.elsewhere / name) for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
        }
        run = subprocess.run(
            [sys.executable, "-m", *map(str, commands[starter])],
            cwd=folder,
            env={**os.environ, **nowhere, "PYTHONUTF8": "1"},
            capture_output=True,
            encoding="utf-8",
        )
        return run, result

    def outputs(self, *arguments):
        """What the lesson shows when it is launched so."""
        run, result = self.launch(*arguments)
        assert run.returncode == 0, run.stderr[-3000:]
        notebook = read(result)
        normalise(notebook, {})
        return shown(notebook)


def copy_to(project):
    """Lessons and helpers, as somebody has them who has downloaded the project."""
    (project / "notebooks").mkdir(parents=True)
    shutil.copy(ROOT / "notebooks" / LESSON, project / "notebooks")
    shutil.copytree(ROOT / "helpers", project / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    return project


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    above, elsewhere = tmp_path_factory.mktemp("above"), tmp_path_factory.mktemp("elsewhere")
    return Copies(above, copy_to(above / "project"), elsewhere)


# nbconvert, JupyterLab and VS Code start a kernel in the lesson's folder; papermill starts it where it runs itself.
LAUNCHES = [
    ("nbconvert", "project"),
    ("nbconvert", "above"),
    ("nbconvert", "elsewhere"),
    ("papermill", "project"),
    ("papermill", "project/notebooks"),
]
AT_ONCE = [("papermill", "project")]  # and nbconvert in the next test; the others once a week


@pytest.mark.parametrize(
    ("starter", "place"),
    [pytest.param(*launch, marks=[] if launch in AT_ONCE else pytest.mark.weekly) for launch in LAUNCHES],
)
def test_it_gives_its_stored_outputs(copies, starter, place):
    folder = copies.elsewhere if place == "elsewhere" else copies.above / place.replace("above", "")
    assert copies.outputs(starter, folder) == shown(STORED)


def test_it_runs_in_a_folder_with_a_space_and_a_letter_that_is_not_ascii(copies):
    project = copy_to(copies.above / "übung eins 注意")  # which GBK has, too
    assert copies.outputs("nbconvert", project, project) == shown(STORED)


def files(folder):
    """Name -> content of each file, without what Python keeps for itself and does without where it can't write."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


@pytest.mark.weekly
def test_it_runs_from_a_read_only_copy_and_writes_nothing_there(copies):
    project = copy_to(copies.above / "read-only")
    before = files(project)
    everything = [project, *project.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert copies.outputs("nbconvert", copies.elsewhere, project) == shown(STORED)
        assert files(project) == before  # for root, whom modes do not stop, this is what the test shows
    finally:
        for path in everything:
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_in_a_folder_that_is_not_the_projects_it_says_what_is_missing(copies):
    run, _ = copies.launch("papermill", copies.elsewhere)
    assert run.returncode != 0
    assert f"No folder helpers in {copies.elsewhere.resolve()} or above: keep this notebook with it." in run.stderr
