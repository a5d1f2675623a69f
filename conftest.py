"""What strict nbval leaves out, so that no wrong output passes: figures, and cells that were never run."""

from pathlib import Path

import pytest
from figures import MATPLOTLIB, TOLERANCE, difference, drawn_by, pictures
from nbval.plugin import IPyNbCell


def pytest_configure(config):
    # The path in pyproject.toml is relative to the project, but pytest may be started in notebooks/.
    given = config.option.nbval_sanitize_with
    if given and not Path(given).is_file():
        config.option.nbval_sanitize_with = str(config.rootpath / given)


def pytest_itemcollected(item):
    if isinstance(item, IPyNbCell):
        item.output_timeout = 60  # nbval would give up on an output after 5 s, which a busy machine may need


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if not isinstance(item, IPyNbCell):
        return (yield)
    result = yield
    if item.cell.execution_count is None:  # nbval passes a cell whose outputs were cleared
        item.raise_cell_error("This cell has no stored outputs. Store them: python tests/refresh.py")
    compare_figures(item)
    return result


def compare_figures(item):
    """Fail where a figure of the cell is missing, is one too many, or looks different from the stored one."""
    stored, drawn = pictures(item.cell.outputs), pictures(item.test_outputs)
    if len(stored) != len(drawn):
        item.raise_cell_error(f"{len(stored)} figures are stored, but the cell draws {len(drawn)}")
    for number, (old, new) in enumerate(zip(stored, drawn, strict=True), start=1):
        version = drawn_by(old)
        if version is None:
            item.raise_cell_error(f"Figure {number} does not say which matplotlib drew it: python tests/refresh.py")
        comparable = version == MATPLOTLIB
        item.user_properties.append(("figure", None if comparable else version))
        far = difference(old, new) if comparable else 0
        if far > TOLERANCE:
            item.raise_cell_error(
                f"Figure {number} differs from the stored one: root mean square {far:.1f} of 255, "
                f"more than {TOLERANCE}. If it should: python tests/refresh.py, and look at it"
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
