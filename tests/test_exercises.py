"""Exercises: each solution passes, each known mistake is named, and nothing that a learner writes gets a traceback."""

import contextlib
import importlib
import itertools
import sys
import threading
import time

import matplotlib.pyplot as plt
import nbformat
import pytest
import torch
from IPython.display import display
from lessons import LESSONS, LONGEST_LINE, cell_of, code_cells, every_lesson, plain_text, read
from nbclient import NotebookClient
from refresh import in_folder
from torch import nn

from helpers.exercises import checking
from helpers.exercises.checking import Exercises, Question, Task


def of_lesson(path):
    name = f"lesson_{path.name[:2]}"
    try:
        return importlib.import_module(f"helpers.exercises.{name}").exercise
    except Exception as error:
        pytest.fail(
            f"helpers/exercises/{name}.py gives no exercises: {error!r}. CONTRIBUTING.md says how they are made"
        )


def exercises_of(path):
    """None where there is something wrong with the file: test_each_lesson_has_its_exercises says what."""
    try:
        return of_lesson(path).all.values()
    except pytest.fail.Exception:
        return []


class ByName(dict):
    """The exercises that tests below name."""

    def __missing__(self, name):
        pytest.fail(f"no lesson has an exercise {name}. Was it renamed or taken out? Then tell {__name__}.py")


ALL = [(path.stem, exercise) for path in LESSONS for exercise in exercises_of(path)]
IDS = [f"{lesson}-{exercise.name}" for lesson, exercise in ALL]
BY_NAME = ByName({exercise.name: exercise for _, exercise in ALL})
TASKS = [exercise for _, exercise in ALL if isinstance(exercise, Task)]
QUESTIONS = [exercise for _, exercise in ALL if isinstance(exercise, Question)]
every_exercise = pytest.mark.parametrize("exercise", [exercise for _, exercise in ALL], ids=IDS)


@pytest.fixture
def verdict(capsys):
    """A function that gives what a learner reads when an answer is checked, on one line; nothing may go to stderr."""

    def ask(exercise, answer):
        exercise.solved = False
        exercise.check(answer)
        out, err = capsys.readouterr()
        assert err == ""
        assert "Traceback" not in out
        assert exercise.solved == out.startswith("✓")
        return " ".join(out.split())

    return ask


@every_exercise
def test_the_solution_is_right(exercise, verdict):
    said = verdict(exercise, exercise.answer)
    assert said.startswith(f"✓ {exercise.name}: "), f"the solution of {exercise.name} is not accepted: {said}"


@every_exercise
def test_each_known_mistake_is_named_and_no_other(exercise, verdict):
    count = len(exercise.mistakes)
    assert count >= 2, f"{exercise.name}: known mistakes, mistakes=[...], are two at least, and not {count}"
    for wrong, sentence in exercise.mistakes:
        if isinstance(exercise, Question) and callable(wrong):
            continue  # the next test
        said = verdict(exercise, wrong)
        assert said.startswith(f"{exercise.name}: not yet."), f"this mistake is accepted: {sentence}"
        assert sentence[1:] in said, f"{exercise.name}: {sentence!r} was not said, but: {said}"


WRONG_VALUES = {  # an answer for each mistake that is recognised by a function
    "query": [
        torch.zeros(3),
        torch.tensor([float("nan"), 0.0, 0.0]),
        torch.tensor([0.22, 0.58, 0.33]),
        torch.tensor([1.0, 0.0, 0.0]),
        torch.tensor([-1.0, 0.0, 0.0]),
    ],
    "favourite": ["with", "0.1896"],
    "puzzle": ["ab", "bcd"],
    "added": [
        [[12, 16], [6, 32]],
        [[16, 6], [32, 6]],
        [[6, 16], [12, 16]],
        [[6, 16], [12, 32]],
        [[7, 16], [6, 32]],
        [[6, 16], [32, 6]],
        [[6, 16], [6, 22]],
        [[6, 16], [6, 16]],
    ],
    "sizes": [[512, 4, 1], [64, 2, 1], [64, 4, 8]],
    "counts": [
        [640000, 6400],
        [6336, 640000],
        [12800, 640000],
        [100, 10000],
        [64, 640000],
        [6400, 323200],
        [6400, 6400],
    ],
    "count": [[8, 256], [1024, 256], [100, 256], [64, 16], [64, 1024], [64, 1024**2], [64, 4]],
    "shapes": [
        [[5, 3], [3, 3], [5, 2]],
        [[5, 3], [5, 5], [5, 3]],
        [[5, 3], [5, 5], [5, 4]],
        [[5, 4], [5, 5], [5, 2]],
        [[4, 3], [5, 5], [5, 2]],
        [[5, 2], [5, 5], [5, 2]],
        [[5, 3], [5, 3], [5, 2]],
        [[5, 3], [5, 5], [5, 1]],
    ],
}


@pytest.mark.parametrize("exercise", QUESTIONS, ids=lambda exercise: exercise.name)
def test_each_mistake_that_a_function_recognises_is_named(exercise, verdict):
    by_function = [sentence for wrong, sentence in exercise.mistakes if callable(wrong)]
    answers = WRONG_VALUES.get(exercise.name, [])
    assert len(answers) == len(by_function), (
        f"{exercise.name} has {len(by_function)} mistakes that a function recognises, in this order: as many answers "
        f"are to stand in WRONG_VALUES of {__name__}.py, not {len(answers)}"
    )
    for sentence, answer in zip(by_function, answers, strict=True):
        said = verdict(exercise, answer)
        assert sentence[1:] in said, f"{exercise.name}: {sentence!r} was not said of {answer}, but: {said}"


def raises(*arguments):
    raise KeyError("a <b>very</b>\nlong story " + 500 * "x")


class UnprintableError(Exception):
    def __str__(self):
        raise ValueError


def raises_unprintable(*arguments):
    raise UnprintableError


def ends_the_kernel(*arguments):
    raise SystemExit


def without_end(*arguments):
    while True: pass  # fmt: skip  # noqa: E701


def deeper_and_deeper(*arguments):
    return deeper_and_deeper(*arguments)


def chatty(*arguments):
    print("I am here")


def in_words(*arguments):
    return "the answer"


STRANGE = {
    "None": (None, "None (nothing)"),
    "a number": (3.5, "3.5, which is of type float"),
    "a word": ("x" * 999, "which is of type str"),
    "a list": ([[1, 2], [3]], "which is of type list"),
    "a tensor": (torch.zeros(7), "shape (7,), which is of type Tensor"),
    "a module": (nn.Linear(2, 2), None),
    "a class": (dict, None),
    "an exception": (ValueError("no"), "which is of type ValueError"),
}
WRONG_FUNCTIONS = {
    raises: "KeyError",
    raises_unprintable: "UnprintableError",
    ends_the_kernel: "SystemExit",
    deeper_and_deeper: "RecursionError",
    chatty: "it returned nothing (None). Does it end with return?",
    in_words: "it returned 'the answer', which is of type str instead of",
    lambda *a: torch.zeros(7, 7, 7): "the result has the shape (7, 7, 7) instead of",
    lambda *a: torch.zeros(7).to_sparse(): "shape (7,) instead of",
    lambda: 1: "takes 0 positional arguments",
    lambda *a: chatty: "it returned the function chatty, which is of type function instead of",
    lambda *a: nn.Linear: "it returned <class 'torch.nn.modules.linear.Linear'>, which is of type type instead of",
}


@every_exercise
@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_answer_gets_a_kind_sentence(exercise, name, verdict):
    answer, words = STRANGE[name]
    if isinstance(exercise, Question) and type(answer) in (str, float) and type(answer) is not type(exercise.answer):
        words = (
            "it is not" if type(exercise.answer) in (int, float) and type(answer) is float else "The answer should be"
        )
    elif isinstance(exercise, Question) and type(answer) in (str, float):
        words = "it is not"
    said = verdict(exercise, answer)
    assert said.startswith(f"{exercise.name}: not yet.")
    if words:
        assert words in said or words.capitalize() in said
    assert len(said) < 1500


@pytest.mark.parametrize("exercise", [t for t in TASKS if not isinstance(t.answer, type)], ids=lambda e: e.name)
def test_a_wrong_function_gets_a_kind_sentence(exercise, verdict):
    of_truth = isinstance(exercise._wrong(chatty)[0].expected, bool)
    for function, words in WRONG_FUNCTIONS.items():
        said = verdict(exercise, function)
        assert said.startswith(f"{exercise.name}: not yet.")
        assert ("instead of True or False" if of_truth and "instead of" in words else words) in said
        assert "I am here" not in said
        assert len(said) < 2500


def test_an_endless_loop_is_stopped_after_three_seconds_and_the_next_check_works(verdict):
    start = time.process_time()
    assert "after 3 seconds it had not come to an end. Is there a loop that never stops?" in verdict(
        TASKS[0], without_end
    )
    assert 2.9 < time.process_time() - start < 6
    assert verdict(TASKS[0], TASKS[0].answer).startswith("✓")


def test_an_endless_loop_that_catches_exceptions_is_stopped(verdict, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.3)

    def stubborn(*arguments):
        while True:
            try:
                raise ValueError
            except Exception:
                pass

    assert "had not come to an end" in verdict(TASKS[0], stubborn)


def test_an_endless_loop_is_shown_with_the_input_that_was_tried(verdict, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.3)
    softmax = BY_NAME["softmax"]
    said = verdict(softmax, lambda s: without_end() if s.shape == (4, 4) else softmax.answer(s))
    assert "This input shows it (square scores)" in said


def test_the_limit_is_for_all_inputs_together(verdict, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.3)
    taken = []

    def slow(*arguments):
        taken.append(arguments)
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
        return TASKS[0].answer(*arguments)

    assert "had not come to an end" in verdict(TASKS[0], slow)
    assert 2 <= len(taken) < len(TASKS[0]._cases)


def test_an_answer_that_ends_with_the_limit_is_interrupted_alone(monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.0)
    for wait in range(30):  # the limit looks every 0.2 s
        with contextlib.closing(checking._Limit()) as limit:
            with contextlib.suppress(KeyboardInterrupt), limit:
                end = time.monotonic() + 0.19 + wait * 1e-3
                while time.monotonic() < end:
                    pass
            try:
                time.sleep(0.02)
            except KeyboardInterrupt:
                pytest.fail("the interrupt came behind the answer")


def test_in_another_thread_a_check_works_without_a_limit(capsys, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.0)
    thread = threading.Thread(target=TASKS[0].check, args=[TASKS[0].answer])
    thread.start()
    thread.join()
    assert capsys.readouterr().out.startswith("✓")


def leak_test(changes=lambda T: range(1, T), change=lambda row: row + 3.0, moved=None):
    """A leakage test with a part of its own."""
    moved = moved or (lambda after, before, j: not torch.allclose(after[:j], before[:j], atol=1e-5, equal_nan=True))

    def test(attend, x):
        before = attend(x)
        for j in changes(len(x)):
            changed = x.clone()
            changed[j] = change(x[j])
            if moved(attend(changed), before, j):
                return True
        return False

    return test


def far(after, before):
    return not torch.allclose(after, before, atol=1e-5, equal_nan=True)


def merged_with_one_batch(z):
    z = z[None] if (single := z.dim() == 3) else z
    B, H, T, d_head = z.shape
    merged = z.transpose(1, 2).reshape(B, T, H * d_head)
    return merged[0] if single else merged


SIX = torch.ones(6, 6, dtype=torch.bool).tril()
NEARLY_RIGHT = {  # answers that are right for most inputs, and how each was meant
    "mask": [lambda T: SIX[:T, :T], lambda T: torch.ones(T, T, dtype=torch.bool).tril().triu(-7)],
    "weights": [
        lambda s: s.masked_fill(~SIX[: s.shape[-1], : s.shape[-1]], -torch.inf).softmax(-1),
        lambda s: s.detach().masked_fill(~torch.ones(s.shape[-2:]).bool().tril(), -torch.inf).softmax(-1),
    ],
    "leaks": [
        leak_test(moved=lambda after, before, j: bool((after - before)[:j].max() > 1e-5)),  # a sign
        leak_test(moved=lambda after, before, j: bool((after - before)[:j].mean().abs() > 1e-5)),  # cancels
        leak_test(changes=lambda T: sorted({1, 2, T - 1} & set(range(1, T)))),
        leak_test(moved=lambda after, before, j: far(after[: min(j, 2)], before[: min(j, 2)])),
        leak_test(moved=lambda after, before, j: far(after[:j, 0], before[:j, 0])),
        leak_test(moved=lambda after, before, j: far(after[:j, -1], before[:j, -1])),
        leak_test(change=lambda row: row + torch.tensor([3.0, 0.0])),
        leak_test(change=lambda row: row * torch.nan),
        leak_test(change=lambda row: row + torch.inf),
        leak_test(change=lambda row: row + 0.01),
        leak_test(change=lambda row: 2 * row),
    ],
    "loss": [
        lambda logits, targets: nn.functional.cross_entropy(logits.detach(), targets),
        lambda logits, targets: torch.tensor(nn.functional.cross_entropy(logits, targets).item(), dtype=logits.dtype),
        torch.no_grad()(nn.functional.cross_entropy),
    ],
    "merge": [merged_with_one_batch],
    "positions": [lambda T, d: BY_NAME["positions"].answer(T, d) * (torch.arange(d) < 32)],
    "blind": [3.01, 2.98],
    "count": [[64.0, 255.0]],
}


@pytest.mark.parametrize("name", NEARLY_RIGHT)
def test_what_is_nearly_right_does_not_pass(name, verdict):
    exercise = BY_NAME[name]
    for answer in NEARLY_RIGHT[name]:
        assert verdict(exercise, answer).startswith(f"{name}: not yet.")


def test_a_result_without_gradient_is_told_as_such(verdict):
    said = verdict(BY_NAME["weights"], NEARLY_RIGHT["weights"][1])
    assert "(scores that are to be trained)" in said
    assert "has lost its gradient" in said


def test_a_right_answer_in_another_form_passes(verdict):
    def in_float64(T, d_model):
        even = torch.arange(0, d_model, 2, dtype=torch.float64)
        angle = torch.arange(T)[:, None] / 10000 ** (even / d_model)
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)

    def unfolded(image, size):
        return nn.functional.unfold(image[None, None], size, stride=size)[0].T

    assert verdict(BY_NAME["positions"], in_float64).startswith("✓")
    assert verdict(BY_NAME["patches"], unfolded).startswith("✓")
    assert verdict(BY_NAME["blind"], 3.0).startswith("✓")


def test_the_first_difference_of_large_results_is_named(verdict):
    def off(T, d_model):
        table = BY_NAME["positions"].answer(T, d_model)
        return table.clone().index_fill_(0, torch.tensor([50]), 0.0) if T > 50 else table

    assert "They differ at [50, 0], [50, 1], [50, 2], [50, 3] and 12 places more." in verdict(BY_NAME["positions"], off)


def attention_with(scale=lambda keys: keys.shape[-1] ** 0.5):
    """Attention with the .T of a learner who has no batch in mind."""

    def attend(x, W_query, W_key, W_value):
        keys = x @ W_key
        weights = torch.softmax(x @ W_query @ keys.T / scale(keys), dim=-1)
        return weights @ x @ W_value

    return attend


def without_import(x, W):
    raise NameError("name 'torch' is not defined", name="torch")  # as in a lesson that does not import it


AS_LEARNERS_WRITE_IT = [
    ("softmax", lambda s: s.exp() / s.exp().sum(), "weights together sum to 1"),
    ("softmax", lambda s: (s - s.max()).exp() / (s - s.max()).exp().sum(), "weights together sum to 1"),
    ("softmax", lambda s: s.exp() / s.exp().sum(dim=0), "column sums to 1"),
    ("detector", lambda w: (w.sum(dim=-1) == 1).all() and (w >= 0).all(), "== fails because of rounding"),
    ("detector", lambda w: bool((w.sum(dim=-1) == 1).all()), "== fails because of rounding"),
    ("convention", lambda x, W, y: torch.equal(x @ W.T, y), "fails because of rounding"),
    ("attention", attention_with(lambda keys: 2**0.5), "always the square root of 2"),
    ("attention", attention_with(lambda keys: 1.0), "scale is missing"),
    ("attention", attention_with(), ".T reverses all dimensions of a batch"),
    ("attention", lambda *a: (BY_NAME["attention"].answer(*a), a[0]), "number 1 is the right one: return that alone"),
    ("loss", lambda *a: BY_NAME["loss"].answer(*a).item(), "Return the tensor, without .item()"),
    ("projection", without_import, "write import torch above"),
]


@pytest.mark.parametrize(("name", "answer", "words"), AS_LEARNERS_WRITE_IT)
def test_a_mistake_is_named_as_a_learner_would_write_it(name, answer, words, verdict):
    assert words in verdict(BY_NAME[name], answer)


def test_the_tables_of_a_wrong_result_have_one_colour_scale_and_name_the_places(monkeypatch):
    shown = []
    monkeypatch.setattr(checking, "display", shown.append)
    scores = BY_NAME["scores"]
    scores.check(lambda q, k: scores.answer(q, k).clone().index_fill_(-1, torch.tensor([0]), -5))
    expected, yours = shown
    assert (expected.low, expected.high, expected.colormap) == (yours.low, yours.high, yours.colormap)
    assert expected.axes == yours.axes == ("query", "key")
    assert (expected.title, yours.title) == ("Expected", "Yours, which differs at [0, 0]")


def test_layers_of_other_names_are_told_the_right_ones(verdict):
    class Named(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(d_in, d_out, bias=False) for _ in range(3))

        def forward(self, x):
            return torch.softmax(self.q(x) @ self.k(x).mT / self.k.out_features**0.5, dim=-1) @ self.v(x)

    said = verdict(BY_NAME["module"], Named)
    assert "has q.weight, k.weight, v.weight, but no W_query.weight" in said


def test_an_answer_may_draw_and_display_and_nothing_of_it_is_seen(verdict, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 60.0)  # a busy machine draws slowly
    softmax = BY_NAME["softmax"]

    def drawing(scores):
        figure, ax = plt.subplots()
        ax.plot([1, 2])
        figure.canvas.draw()
        display("I am here")
        plt.figure()
        return torch.softmax(scores, dim=-1)

    said = verdict(softmax, drawing)
    assert said.startswith("✓")
    assert "I am here" not in said
    assert plt.get_fignums() == []


def test_what_an_answer_prints_over_and_over_is_not_seen(verdict):
    def with_progress(scores):
        for step in range(3):  # as tqdm writes
            print(f"\r{step}/3 done", end="", file=sys.stderr)
            print(f"step {step}", end="\r")
        return torch.softmax(scores, dim=-1)

    exercise = BY_NAME["softmax"]
    assert verdict(exercise, with_progress) == verdict(exercise, exercise.answer)


def test_a_carriage_return_in_an_error_hides_nothing_of_the_message(capsys):
    def overwrites(*arguments):
        raise ValueError("first\rsecond")

    TASKS[0].check(overwrites)
    assert "\r" not in (said := capsys.readouterr().out)
    assert "ValueError: first second" in said


def test_an_answer_may_start_a_thread(verdict):
    end = threading.Event()

    def with_threads(scores):
        talks = threading.Thread(target=print, args=["I am here"])
        talks.start()
        talks.join()
        threading.Thread(target=end.wait, daemon=True).start()  # nobody waits for this one
        return torch.softmax(scores, dim=-1)

    said = verdict(BY_NAME["softmax"], with_threads)
    end.set()
    assert said.startswith("✓")
    assert "I am here" not in said


def test_a_wrong_number_is_not_called_imprecise(verdict):
    loss = BY_NAME["loss"]
    assert "some numbers of the result are wrong" in verdict(loss, lambda *given: loss.answer(*given) + 0.05)
    assert "right only to a few digits" in verdict(loss, lambda *given: loss.answer(*given) * (1 + 5e-5))


def test_a_large_result_of_another_type_is_told_its_type(verdict):
    assert "of type torch.float64 instead of torch.float32" in verdict(
        BY_NAME["scaled"], lambda queries, keys: BY_NAME["scaled"].answer(queries, keys).double()
    )
    half = verdict(
        BY_NAME["positions"],
        lambda T, d: BY_NAME["positions"].answer(T, d).half() if T > 50 else BY_NAME["positions"].answer(T, d),
    )
    assert "of type torch.float16 instead of torch.float32" in half


def test_float64_is_named_only_where_it_is_the_matter(verdict):
    assert "float64" not in verdict(BY_NAME["loss"], lambda logits, targets: logits.mean() * 7)
    assert "float64" in verdict(
        BY_NAME["loss"], lambda logits, targets: BY_NAME["loss"].answer(logits.float(), targets)
    )


def test_a_right_result_of_whole_numbers_is_told_to_be_true_and_false(verdict):
    said = verdict(BY_NAME["mask"], lambda T: torch.ones(T, T, dtype=torch.int64).tril())
    assert "True and False: dtype=torch.bool" in said


def test_an_interrupt_ends_the_check_with_a_line(verdict):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    assert "interrupted" in verdict(TASKS[0], interrupted)


def test_a_changed_argument_is_noticed(verdict):
    exercise = BY_NAME["softmax"]

    def in_place(scores):
        scores -= scores.amax(dim=-1, keepdim=True)
        return torch.softmax(scores, dim=-1)

    assert "changed its argument" in verdict(exercise, in_place)


def test_random_numbers_of_the_learner_are_left_alone(verdict):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    for exercise in TASKS:
        verdict(exercise, exercise.answer)
    assert torch.equal(torch.rand(3), expected)


def test_the_smallest_input_that_fails_is_shown(verdict):
    exercise = BY_NAME["scores"]

    def wrong_for_large_tables(queries, keys):
        return queries @ keys.transpose(-2, -1) + (1e5 if queries.numel() > 2 else 0.0)

    said = verdict(exercise, wrong_for_large_tables)
    shown = exercise._wrong(wrong_for_large_tables)
    sizes = {result.case: sum(argument.numel() for argument in result.arguments) for result in shown}
    assert min(sizes, key=sizes.get) in said
    assert "Expected: query (row) to key (column)" in said
    assert "Yours, which differs at every place: query (row) to key (column)" in said


@every_exercise
def test_a_check_is_deterministic(exercise, verdict):
    mistake, _ = exercise.mistakes[0]
    if isinstance(exercise, Question) and callable(mistake):
        mistake = WRONG_VALUES[exercise.name][0]
    for answer in (exercise.answer, mistake):
        assert verdict(exercise, answer) == verdict(exercise, answer)


@every_exercise
def test_hints_go_on_and_the_last_one_stays(exercise, capsys):
    exercise._given = 0
    count = len(exercise._hints)
    assert count >= 2
    said = []
    for _ in range(count + 1):
        exercise.hint()
        said.append(capsys.readouterr().out)
    assert len(set(said)) == count
    assert said[-1] == said[-2]
    assert f"exercise.{exercise.name}.solution()" in said[-1]
    assert all(line.startswith(f"Hint {n} of {count}: ") for n, line in zip(range(1, count + 1), said, strict=False))


@every_exercise
def test_the_solution_is_shown_as_code_only_when_asked(exercise, capsys):
    exercise.solution()
    code = capsys.readouterr().out
    names = {"torch": torch, "nn": nn}
    exec(code, names)
    assert max(map(len, code.splitlines())) <= LONGEST_LINE
    assert len(names) == 4  # torch, nn, builtins and the answer


def test_a_question_accepts_letters_in_any_form(verdict):
    exercise = BY_NAME["puzzle"]
    for answer in ("bd", "db", " B, D ", "b and d", "b) d)"):
        assert verdict(exercise, answer).startswith("✓")
    for answer in ("not b, not d", "b or d", "neither b nor d", "b, d, e", "", "and"):
        assert verdict(exercise, answer).startswith("puzzle: not yet.")


def test_a_word_must_be_the_word(verdict):
    exercise = BY_NAME["favourite"]
    assert verdict(exercise, " Starts ").startswith("✓")
    for answer in ("star", "rats", "starts (0.19)"):
        assert "It is not a token" in verdict(exercise, answer)


def test_a_mistake_is_named_only_where_all_of_it_fits(verdict):
    exercise = BY_NAME["detector"]
    said = verdict(exercise, lambda w: bool((w <= 1).all() and ((w.sum(dim=-1) - 1).abs() < 1e-3).all()))
    assert "It was tried with a small negative weight" in said


def test_a_result_in_float32_for_float64_is_not_right(verdict):
    exercise = BY_NAME["softmax"]
    assert "only to a few digits" in verdict(exercise, lambda s: torch.softmax(s.float(), dim=-1).to(s.dtype))


def test_a_module_through_which_no_gradient_gets_is_not_right(verdict):
    exercise = BY_NAME["module"]
    detached = type(
        "Detached", (exercise.answer,), {"forward": lambda self, x: exercise.answer.forward(self, x).detach()}
    )
    assert "no gradient gets through" in verdict(exercise, detached)


def test_what_the_learner_has_set_is_left_alone(verdict):
    def sets_and_fails(*arguments):
        torch.set_grad_enabled(False)
        torch.manual_seed(1)
        raise ValueError

    torch.manual_seed(5)
    verdict(TASKS[0], sets_and_fails)
    assert torch.is_grad_enabled()
    assert torch.initial_seed() == 5


def test_a_check_without_gradients_is_the_same(verdict):
    exercise = BY_NAME["step"]
    with torch.no_grad():
        assert verdict(exercise, exercise.answer).startswith("✓")
        assert not torch.is_grad_enabled()


def test_an_unknown_exercise_names_those_there_are():
    with pytest.raises(AttributeError, match="it has: favourite, projection"):
        _ = of_lesson(LESSONS[0]).favorite


def test_progress_counts_and_never_scolds(capsys):
    exercises = Exercises(
        one=Question('a = "a"', form="a letter", right="yes.", mistakes=[], hints=["a"]),
        two=Question('b = "b"', form="a letter", right="yes.", mistakes=[], hints=["b"]),
    )
    exercises.progress()
    exercises.one.check("a")
    exercises.progress()
    exercises.one.check("b")  # tried again, otherwise: what is solved stays solved
    exercises.two.check("b")
    exercises.progress()
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "solved so far" in line] == [
        "0 of 2 solved so far.",
        "1 of 2 solved so far: one.",
        "2 of 2 solved so far: one, two.",
    ]
    assert [line for line in lines if "Well done" in line] == lines[-1:]


# In a kernel

RIGHT = "def my_projection(x, W):\n    return x @ W\n"
CLASS = "class MySelfAttention(torch.nn.Module):\n    def forward(self, x):\n        return "
SESSION = [  # cells, and what the check of the last line says
    ("exercise.favourite.check(my_favourite)", "no answer yet", "my_favourite = ..."),
    ("exercise.favourite.check(my_favourite)", "did not run to its end", "my_favourite = starts"),
    ("exercise.favourite.check(my_favourite)", "did not run to its end", ""),
    ("exercise.favourite.check(my_favourite)", "✓", 'my_favourite = "starts"'),
    ("exercise.projection.check(my_projection)", "✓", RIGHT),
    ("exercise.projection.check(my_projection)", "did not run to its end", "def my_projection(x, W)\n    return W @ x"),
    ("exercise.projection.check(my_projection)", "✓", RIGHT + "my_projection == no_such_name"),
    ("exercise.projection.check(my_projection)", "did not run to its end", "no_such_name\n" + RIGHT.replace("x", "y")),
    ("exercise.projection.check(my_projection)", "did not run to its end", "print(my_projection)"),
    (RIGHT + "exercise.projection.check(my_projection)", "✓", "no_such_name\n" + RIGHT.replace("x", "z")),
    ("module.check(MySelfAttention)", "takes 1 pos", CLASS + "x"),
    ("module.check(MySelfAttention)", "did not run to its end", "import no_such_module\n" + CLASS + "2 * x"),
    ("module.check(MySelfAttention)", "takes 1 pos", CLASS + "3 * x\nno_such_name"),
]


def test_an_answer_of_before_is_not_judged_for_a_cell_that_failed():
    setup = (
        code_cells(read(LESSONS[0]))[0].source
        + """
import torch
from helpers.exercises.lesson_00 import exercise
from helpers.exercises.lesson_06 import exercise as six
module = six.module"""
    )
    sources = [setup, *itertools.chain.from_iterable((answer, check) for check, _, answer in SESSION)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(notebook, allow_errors=True, **in_folder(LESSONS[0].parent)).execute()
    for cell, (_, said, answer) in zip(notebook.cells[2::2], SESSION, strict=True):
        assert said in " ".join(cell.outputs[0].text.split()), answer


def test_an_endless_loop_is_stopped_in_a_kernel():
    setup = code_cells(read(LESSONS[0]))[0].source + "\nfrom helpers.exercises.lesson_00 import exercise"
    loop = "def my_projection(x, W):\n    while True: pass\nexercise.projection.check(my_projection)"
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(s) for s in (setup, loop, RIGHT, SESSION[4][0])]
    )
    NotebookClient(notebook, **in_folder(LESSONS[0].parent)).execute()
    assert "had not come to an end" in notebook.cells[1].outputs[0].text
    assert "✓" in notebook.cells[3].outputs[0].text


# In the lessons


def id_of(name):
    """The id of the text of an exercise, and the beginning of those of its cells."""
    return f"exercise-{name.replace('_', '-')}"


def exercise_cells(path):
    """For each exercise of a lesson: the cell for the answer and that of the check."""
    cells = code_cells(read(path))
    return {
        cell.id.removeprefix("exercise-").removesuffix("-check").replace("-", "_"): (before, cell)
        for before, cell in itertools.pairwise(cells)
        if cell.id.startswith("exercise-") and cell.id.endswith("-check")
    }


@every_lesson
def test_each_lesson_has_its_exercises(path):
    exercises, least = of_lesson(path).all, 3 if "01" <= path.name[:2] <= "06" else 2
    file = f"helpers/exercises/lesson_{path.name[:2]}.py"
    assert len(exercises) >= least, f"{file} has {len(exercises)} exercises, {least} at least"
    assert "exercise.progress()" in cell_of(path, "progress").source, "the cell progress is exercise.progress()"
    for name in exercise_cells(path):
        assert name in exercises, f"{file} has no exercise {name}, which a cell of {path.name} checks"
    for name in exercises:
        text, answer, check = (cell_of(path, id_of(name) + part) for part in ("", "-answer", "-check"))
        ids = [cell.id for cell in read(path).cells]
        place = ids.index(text.id)
        assert ids[place : place + 3] == [text.id, answer.id, check.id], (
            f"one after the other: {text.id} and its two cells"
        )
        lines = check.source.splitlines()
        assert lines[0].startswith(f"exercise.{name}.check("), (
            f"{check.id}: its first line is exercise.{name}.check(...)"
        )
        rest = [f"# exercise.{name}.hint()", f"# exercise.{name}.solution()"]
        assert lines[1:] == rest, f"{check.id}: its other lines are {rest}"
        shown = "".join(map(plain_text, check.outputs))
        neutral = f"{name}: no answer yet. Write yours above; exercise.{name}.hint() helps.\n"
        assert shown == neutral, f"{check.id} of the untouched stub shows {shown!r}. python tools/refresh.py?"


@every_lesson
def test_no_solution_stands_in_the_lesson(path):
    text = "".join(cell.source for cell in read(path).cells if cell.id.startswith("exercise-"))
    for name, exercise in of_lesson(path).all.items():
        answer = cell_of(path, id_of(name) + "-answer")
        assert "..." in answer.source or "# your" in answer.source, f"{answer.id} has no ... where the answer goes"
        assert exercise.code.splitlines()[-1].strip() not in answer.source, f"{answer.id} has the solution"
        for hint in exercise._hints:
            assert hint not in text, f"the text of {name} has a hint of it: {hint}"


@pytest.mark.weekly  # the solutions alone are tried at the end of each run of a lesson, by conftest.py
@every_lesson
def test_the_solved_lesson_runs_and_every_exercise_is_solved(path):
    notebook = read(path)
    exercises = of_lesson(path).all
    for name, (answer, _) in exercise_cells(path).items():
        next(cell for cell in notebook.cells if cell.id == answer.id).source = exercises[name].code
    notebook = nbformat.from_dict(notebook)
    NotebookClient(notebook, **in_folder(path.parent)).execute()
    (progress,) = (cell.outputs[0].text for cell in code_cells(notebook) if cell.id == "progress")
    assert progress.startswith(f"{len(exercises)} of {len(exercises)} solved so far: {', '.join(exercises)}.")
