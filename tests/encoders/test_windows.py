from hypothesis import given
from hypothesis import strategies as st

from koala.encoders.windows import LONGEST, load_tokenizer, split_subwords


def test_subwords_are_those_of_bert():
    """Ids of the published vocabulary."""
    (window,) = split_subwords([["Photosynthesis", "works"]])
    assert window.subwords == (101, 7760, 6038, 25078, 2573, 102)
    assert window.words == (None, 0, 0, 0, 1, None)
    assert load_tokenizer().get_vocab_size() == 30522


@given(
    st.lists(st.lists(st.sampled_from(["water", "Photosynthesis", "x" * 300, "."]), max_size=400))
)
def test_every_word_is_in_one_window_and_no_window_is_too_long(texts):
    windows = split_subwords(texts)
    assert all(len(window.subwords) <= LONGEST + 2 for window in windows)
    for number, words in enumerate(texts):
        found = [w for window in windows if window.text == number for w in window.words]
        assert {word for word in found if word is not None} == set(range(len(words)))
    windows_of_word = {}
    for index, window in enumerate(windows):
        for word in set(window.words) - {None}:
            windows_of_word.setdefault((window.text, word), set()).add(index)
    # None of these words is longer than a window, so none is cut.
    assert all(len(found) == 1 for found in windows_of_word.values())
