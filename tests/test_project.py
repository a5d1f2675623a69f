"""The files around the lessons agree with one another."""

import re
import subprocess
import sys

import pytest
from lessons import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def requirements():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_environment_yml_lists_what_requirements_txt_lists():
    lines = (ROOT / "environment.yml").read_text(encoding="utf-8").splitlines()
    start = lines.index("  - pip:")
    assert [line.removeprefix("      - ") for line in lines[start + 1 :]] == requirements()
    assert "  - python=3.12" in lines[:start]


def test_torch_is_pinned_and_every_other_has_a_lower_bound():
    assert "torch==2.13.0" in requirements()
    for line in requirements():
        assert re.search(r">=|==", line), line


def test_the_check_of_lesson_00_knows_the_pinned_torch():
    from helpers.environment import TORCH

    assert f"torch=={TORCH}" in requirements()


def test_everything_imported_is_required():
    import ast

    names = {"ipython": "IPython", "pillow": "PIL", "axe-playwright-python": "axe_playwright_python"}
    required = {re.split(r"[=<>]", line)[0] for line in requirements()}
    known = {names.get(name, name) for name in required} | {"helpers"} | set(sys.stdlib_module_names)
    known |= {"tornado"}  # comes with jupyter_client, which leaves its connections to it
    own = {path.stem for path in (ROOT / "tests").glob("*.py")} | {"conftest"}
    for path in [*ROOT.glob("helpers/**/*.py"), *ROOT.glob("tests/*.py"), ROOT / "conftest.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            for module in modules:
                assert module.split(".")[0] in known | own, f"{path.name} imports {module}"


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#\s]+)\)", README))))
def test_links_of_the_readme_resolve(target):
    assert re.match(r"https://", target) or (ROOT / target).is_file()


WORKFLOW = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
JOBS = re.split(r"^  (?=\w+:$)", WORKFLOW.partition("\njobs:\n")[2], flags=re.MULTILINE)[1:]


def test_the_workflow_runs_every_python_that_is_supported():
    from helpers.environment import PYTHONS

    (first, last), pythons = PYTHONS, re.search(r"python: \[(.*)\]", WORKFLOW)[1]
    assert pythons == ", ".join(f'"3.{minor}"' for minor in range(first[1], last[1] + 1))


def test_the_workflow_may_only_read_and_comes_to_an_end():
    assert re.findall(r"^ *permissions:\n( +.*\n)+", WORKFLOW, re.MULTILINE) == ["  contents: read\n"]
    assert len(JOBS) == WORKFLOW.count("runs-on:") == WORKFLOW.count("timeout-minutes:") >= 4
    for job in JOBS:
        assert "timeout-minutes:" in job
    for action in re.findall(r"uses: (.*)", WORKFLOW):
        assert re.fullmatch(r"actions/[\w-]+@v\d+", action)


def test_the_commands_that_the_workflow_takes_from_the_readme_are_there():
    asked = re.findall(r'readme\.py ("[^"]+") (\w+)', WORKFLOW)
    assert len(asked) == 3
    for start, language in asked:
        command = [sys.executable, ROOT / ".ci/readme.py", start.strip('"'), language]
        block = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
        assert ("torch==2.13.0" if "Linux" in start else "-m pytest\n") in block
