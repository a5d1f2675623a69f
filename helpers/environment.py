"""check_environment(): which Python runs this notebook, and whether the series was tested with it."""

import sys
from importlib.metadata import PackageNotFoundError, version

PYTHONS = ((3, 11), (3, 14))  # the first and the last that are supported
TORCH = "2.13.0"  # as in requirements.txt


def check_environment():
    """Print the interpreter and the versions that matter, and what to do where one is not supported."""
    print(f"Interpreter: {sys.executable}")
    print(f"Python:      {'.'.join(map(str, sys.version_info[:3]))}")
    for package in ("torch", "jupyterlab", "matplotlib", "ipywidgets"):
        print(f"{package + ':':12} {_version(package)}")
    print()
    print("\n".join(_problems(sys.version_info[:2], _version("torch"))) or "All set: the series is tested with these.")


def _version(package):
    """The installed version without its build tag (+cpu). JupyterLab itself may live in another environment."""
    try:
        return version(package).partition("+")[0]
    except PackageNotFoundError:
        return "not installed here"


def _problems(python, torch):
    """A line for each thing that the reader should change."""
    if not PYTHONS[0] <= tuple(python) <= PYTHONS[1]:
        first, last = (".".join(map(str, end)) for end in PYTHONS)
        yield (
            f"Python {python[0]}.{python[1]} is not supported. Install one from {first} to {last}, make the "
            "environment again with the README's first command, and choose it under Kernel > Change Kernel."
        )
    if torch != TORCH:
        why = f"torch is {torch}, but the numbers in these lessons come from {TORCH}: expect other last digits."
        yield f"{why} To get it: {sys.executable} -m pip install torch=={TORCH}"
