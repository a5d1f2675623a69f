"""Execute lessons again and store their outputs as the expected ones.

    python tools/refresh.py                                   all lessons
    python tools/refresh.py notebooks/02_softmax.ipynb ...    these

What is stored is normalised, so that a lesson that has not changed gives an empty `git diff`: no state of widgets, no
times, no versions, execution counts from 1, and a figure only replaced where it looks different, a number with a
tolerance (tolerance.py) only where it is further off. A lesson that raises is left as it was.
"""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
from figures import TOLERANCE, difference, pictures
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
    stored = {cell.id: cell.get("outputs", []) for cell in notebook.cells}
    client = NotebookClient(notebook, **in_folder(path.parent))
    client.execute(stderr=subprocess.DEVNULL)  # the kernel's own log; what a cell writes to stderr is an output
    normalise(notebook, stored)
    after = nbformat.writes(notebook) + "\n"
    if after == before:
        return False
    path.write_text(after, encoding="utf-8", newline="\n")
    return True


def normalise(notebook, stored):
    """Take out of an executed notebook what differs from run to run. `stored` has the former outputs by cell id."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    count = 0
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({key: cell.metadata[key] for key in KEPT_OF_CELLS if key in cell.metadata})
        cell.pop("attachments", None)
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = coalesce_streams(cell.outputs)
        cell.outputs = settled(cell.source, stored.get(cell.id, []), cell.outputs)
        keep_pictures(cell.outputs, stored.get(cell.id, []))
        for output in cell.outputs:
            normalise_output(output, count)


def normalise_output(output, count):
    if output.output_type == "execute_result":
        output.execution_count = count
    if output.output_type == "stream":
        output.text = sanitise(output.text)
    if output.output_type in ("display_data", "execute_result"):
        # Without its view, a reader with no kernel sees the line of text instead of an error in the sliders' place.
        output.data.pop(WIDGET, None)
        for kind, data in output.data.items():
            if isinstance(data, str) and kind != "image/png":
                output.data[kind] = sanitise(data)


def keep_pictures(outputs, stored):
    """Keep each stored picture that looks like the new one: the same figure has other bytes on another machine."""
    drawn = [output for output in outputs if "image/png" in output.get("data", {})]
    kept = [output for output in stored if "image/png" in output.get("data", {})]
    for new, old in zip(drawn, kept, strict=False):
        if difference(*pictures([new, old])) <= TOLERANCE:
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
