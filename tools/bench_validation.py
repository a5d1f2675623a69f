"""How long it takes to validate the lessons: executed, compared with their stored outputs, and the suite.

    python tools/bench_validation.py

Prints a table, for this machine. The first two are the shorter of two runs each, taken in turn.
"""

import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version

from lessons import LESSONS, ROOT, read
from nbclient import NotebookClient
from refresh import in_folder

PYTEST = [sys.executable, "-m", "pytest", "--quiet"]  # with the options of pyproject.toml; a later one wins


def execute():
    """Execute all lessons with nbclient, one after the other, and compare nothing."""
    for path in LESSONS:
        NotebookClient(read(path), **in_folder(path.parent)).execute(stderr=subprocess.DEVNULL)


LESSONS_ALONE = {
    "every lesson executed by nbclient, one process": [sys.executable, __file__, "execute"],
    "the same, each output compared by strict nbval": [*PYTEST, "notebooks"],
}
SUITE = {"all tests but the browser's, two processes": [*PYTEST, "-n2", "--dist=loadfile"]}


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main():
    rounds = [{what: seconds(command) for what, command in LESSONS_ALONE.items()} for _ in range(2)]
    shortest = {what: min(times[what] for times in rounds) for what in LESSONS_ALONE}
    executed, compared = shortest.values()
    shortest |= {what: seconds(command) for what, command in SUITE.items()}
    packages = ", ".join(f"{name} {version(name)}" for name in ("nbval", "nbclient", "pytest", "pytest-xdist", "torch"))
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {packages}\n")
    print("| what | seconds |\n|:--|--:|")
    for what, time_taken in shortest.items():
        print(f"| {what} | {time_taken:.0f} |")
    print(f"\nStrict nbval takes {compared / executed:.2f} times as long as nbclient.")


if __name__ == "__main__":
    execute() if sys.argv[1:] == ["execute"] else main()
