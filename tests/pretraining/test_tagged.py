from koala.encoders.tokenizer import SubwordTokenizer
from koala.pretraining import tagged
from koala.pretraining.examples import build_text_examples
from koala.pretraining.tagged import FILE, find_text_examples

TEXTS = ["Roots absorb water.", "The photosynthesizing leaf makes sugar.", "It rains."]


def test_cached_examples_are_equal_and_not_built_again(tmp_path, monkeypatch):
    subwords = SubwordTokenizer(None)
    fresh = build_text_examples(TEXTS, subwords, longest=64)
    assert find_text_examples(tmp_path / "run", TEXTS, subwords, longest=64) == fresh
    assert (tmp_path / "run" / FILE).is_file()

    def fail(*_, **__):
        raise AssertionError("tagged again")

    monkeypatch.setattr(tagged, "build_text_examples", fail)
    assert find_text_examples(tmp_path / "run", TEXTS, subwords, longest=64) == fresh


def test_examples_of_other_texts_are_built_again(tmp_path):
    subwords = SubwordTokenizer(None)
    find_text_examples(tmp_path, TEXTS, subwords, longest=64)
    other = [*TEXTS, "Ice melts."]
    assert find_text_examples(tmp_path, other, subwords, longest=64) == build_text_examples(
        other, subwords, longest=64
    )
    assert find_text_examples(tmp_path, other, subwords, longest=9) == build_text_examples(
        other, subwords, longest=9
    )
