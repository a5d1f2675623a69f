"""The mutants can still be made. Whether a test notices them is told by `tools/mutate.py`, which takes minutes."""

from collections import Counter
from dataclasses import replace

import pytest
from lessons import LESSONS, ROOT
from mutants import KINDS, MUTANTS
from mutate import OF_HELPERS, groups, mutated

pytestmark = pytest.mark.weekly
FILES = {mutant.file: (ROOT / mutant.file).read_text(encoding="utf-8") for mutant in MUTANTS}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.kind}-{mutant.name}")
def test_it_can_be_made(mutant):
    source = FILES[mutant.file]
    assert mutated(mutant, source) != source


def test_there_are_enough_of_each_kind_with_names_of_their_own():
    count = Counter(mutant.kind for mutant in MUTANTS)
    assert set(count) == set(KINDS)
    assert sum(count.values()) >= 60
    assert min(count.values()) >= 15
    assert len({(mutant.kind, mutant.name) for mutant in MUTANTS}) == len(MUTANTS)


def test_every_helper_has_tests_and_every_lesson_a_mutant_of_each_kind_but_text():
    assert {mutant.file for mutant in MUTANTS if mutant.kind == "helper"} == set(OF_HELPERS)
    for kind in ("output", "code"):
        files = {mutant.file for mutant in MUTANTS if mutant.kind == kind}
        for path in LESSONS:
            assert f"notebooks/{path.name}" in files, (
                f"tools/mutants.py plants no mistake of kind {kind!r} in {path.name}"
            )


@pytest.mark.parametrize("old", ["no such text", "e"], ids=["nowhere", "often"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_that_has_rotted_is_named(kind, old):
    mutant = next(mutant for mutant in MUTANTS if mutant.kind == kind)
    with pytest.raises(ValueError, match=f"{mutant.name}.* times in .*not once"):
        mutated(replace(mutant, old=old), FILES[mutant.file])


def test_no_two_of_a_run_are_in_the_same_cell():
    for _, group in groups(MUTANTS):
        assert len({(mutant.file, mutant.where) for mutant in group}) == len(group)
