"""The check in lesson 00, and what importing helpers does and costs."""

import subprocess
import sys

import pytest
import torch
from lessons import ROOT

from helpers import check_environment, environment


def test_it_names_the_interpreter(capsys):
    check_environment()
    assert f"Interpreter: {sys.executable}\n" in capsys.readouterr().out


@pytest.mark.parametrize("python", [(3, 11), (3, 12), (3, 13), (3, 14)])
def test_supported_versions_have_no_problem(python):
    assert not list(environment._problems(python, environment.TORCH))


@pytest.mark.parametrize("python", [(3, 10), (3, 15), (4, 0)])
def test_an_unsupported_python_is_told_what_to_do(python):
    (problem,) = environment._problems(python, environment.TORCH)
    assert problem.startswith(f"Python {python[0]}.{python[1]} is not supported. Install one from 3.11 to 3.14")


def test_another_torch_is_told_what_to_do():
    (problem,) = environment._problems((3, 12), "2.12.1")
    assert "torch is 2.12.1" in problem
    assert f"{sys.executable} -m pip install torch==2.13.0" in problem


def test_the_verdict_reaches_the_page(capsys, monkeypatch):
    monkeypatch.setattr(environment, "PYTHONS", ((3, 1), (3, 2)))
    check_environment()
    assert "is not supported" in capsys.readouterr().out


def test_a_package_of_another_environment_is_no_error():
    assert environment._version("no-such-package") == "not installed here"


def test_helpers_settle_threads_and_digits():
    assert torch.get_num_threads() == 1
    assert str(torch.tensor([1e-7, 1.23456])) == "tensor([0.0000, 1.2346])"


def test_a_kernel_without_torch_is_told_what_to_do():
    code = "import sys; sys.modules['torch'] = None; import helpers"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8")
    last = run.stderr.split("ModuleNotFoundError: ")[-1]
    assert last.startswith(f"This notebook runs on {sys.executable}, which has no torch.")
    assert "Change Kernel" in last
