"""Execute lessons again and store their outputs as the expected ones.

    python tools/refresh.py                                   all lessons
    python tools/refresh.py notebooks/02_softmax.ipynb ...    these

What is stored is normalised, so that a lesson that has not changed gives an empty `git diff`: no state of widgets, no
times, no versions. What is committed stays where it may: the execution counts of the other cells when one is added or
taken away, a figure that looks the same, a number within its tolerance (tolerance.py). Another minor version of
matplotlib draws every figure anew. A lesson that raises is left as it was.

JupyterLab can't set the id of a cell. A first line `# id: name` in code, or `<!-- id: name -->` in text, becomes it.
"""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
from figures import MATPLOTLIB, TOLERANCE, difference, drawn_by, pictures
from jupyter_client import AsyncKernelManager
from lessons import LESSONS, ROOT
from nbclient import NotebookClient
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager
from nbval.plugin import coalesce_streams, get_sanitize_patterns
from tolerance import settled

# What JupyterLab saves, without `version`, the one line that is another on another machine.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}
KEPT_OF_CELLS = ("tags", "jupyter")
WIDGET = "application/vnd.jupyter.widget-view+json"
GIVEN_ID = re.compile(r"(?:# id: (\S+)|<!-- id: (\S+) -->)\n+")


class OurKernelManager(AsyncKernelManager):
    """Starts the interpreter that runs this script, whatever kernels the machine has registered."""

    def _kernel_spec_manager_default(self):
        return NbvalKernelspecManager(parent=self)


def in_folder(folder):
    """How nbclient executes a notebook as if it stood in the folder."""
    return {
        "kernel_name": CURRENT_ENV_KERNEL_NAME,
        "kernel_manager_class": OurKernelManager,
        "timeout": 120,
        "shutdown_kernel": "immediate",  # it has nothing left to do, and to ask it first takes a second
        "resources": {"metadata": {"path": str(folder)}},
    }


def refresh(path):
    """Execute the lesson at `path` and store its outputs; tell whether the file has changed."""
    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    give_ids(notebook)
    former = committed(path)
    stored = {cell.id: cell.get("outputs", []) for cell in [*notebook.cells, *former]}  # what is committed goes first
    others = {drawn_by(picture) for outputs in stored.values() for picture in pictures(outputs)} - {MATPLOTLIB, None}
    if others:
        print(f"{path.name}: its figures, drawn by {', '.join(sorted(others))}, are drawn anew by {MATPLOTLIB}")
    client = NotebookClient(notebook, **in_folder(path.parent))
    client.execute(stderr=subprocess.DEVNULL)  # the kernel's own log; what a cell writes to stderr is an output
    normalise(notebook, stored)
    keep_counts(notebook, {cell.id: cell.get("execution_count") for cell in former})
    after = nbformat.writes(notebook) + "\n"
    if after == before:
        return False
    path.write_text(after, encoding="utf-8", newline="\n")
    return True


def give_ids(notebook):
    """Take the ids that first lines give out of the text of the cells."""
    for cell in notebook.cells:
        if given := GIVEN_ID.match(cell.source):
            cell.id = given[1] or given[2]
            cell.source = cell.source[given.end() :]


def committed(path):
    """The cells of the lesson as they were last committed; none without git, or for a new lesson."""
    command = ["git", "show", f"HEAD:./{path.name}"]
    try:
        found = subprocess.run(command, cwd=path.parent, capture_output=True, encoding="utf-8", check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return nbformat.reads(found.stdout, as_version=4).cells


def normalise(notebook, stored):
    """Take out of an executed notebook what differs from run to run. `stored` has the former outputs by cell id."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    number = 0
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({key: cell.metadata[key] for key in KEPT_OF_CELLS if key in cell.metadata})
        cell.pop("attachments", None)
        if cell.cell_type != "code":
            continue
        number += 1
        cell.outputs = coalesce_streams(cell.outputs)
        cell.outputs = settled(cell.source, stored.get(cell.id, []), cell.outputs)
        keep_pictures(cell.outputs, stored.get(cell.id, []))
        for output in cell.outputs:
            normalise_output(output)
        count(cell, number)


def keep_counts(notebook, kept):
    """Keep the execution counts of a cell id; a new cell goes on from the cell before. Where order is lost: from 1."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    own = [kept.get(cell.id) for cell in cells]
    known = list(filter(None, own))
    if known != sorted(known):
        return
    last = 0
    for place, cell in enumerate(cells):
        last = own[place] or min([last + 1, *filter(None, own[place:])])
        count(cell, last)


def count(cell, number):
    cell.execution_count = number
    for output in cell.outputs:
        if output.output_type == "execute_result":
            output.execution_count = number


def normalise_output(output):
    if output.output_type == "stream":
        output.text = sanitise(output.text)
    if output.output_type in ("display_data", "execute_result"):
        # Without its view, a reader with no kernel sees the line of text instead of an error in the sliders' place.
        output.data.pop(WIDGET, None)
        for kind, data in output.data.items():
            if isinstance(data, str) and kind != "image/png":
                output.data[kind] = sanitise(data)


def keep_pictures(outputs, stored):
    """Keep each stored picture of this matplotlib that looks the same: on another machine its bytes are others."""
    drawn = [output for output in outputs if "image/png" in output.get("data", {})]
    kept = [output for output in stored if "image/png" in output.get("data", {})]
    for new, old in zip(drawn, kept, strict=False):
        one, other = pictures([new, old])
        if drawn_by(other) == MATPLOTLIB and difference(one, other) <= TOLERANCE:
            new.data["image/png"] = old.data["image/png"]


def sanitise(text):
    """Replace what differs between machines, as nbval does before it compares."""
    for pattern, replacement in get_sanitize_patterns((ROOT / "tests/sanitize.cfg").read_text(encoding="utf-8")):
        text = re.sub(pattern, replacement, text)
    return text


def main():
    lessons = [Path(name).resolve() for name in sys.argv[1:]] or LESSONS
    for path in lessons:
        print("changed  " if refresh(path) else "unchanged", path.name)


if __name__ == "__main__":
    main()
