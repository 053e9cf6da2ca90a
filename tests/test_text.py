import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koala.errors import KoalaError
from koala.text import analyze, split_steps, split_words, stem_content


def steps_of(text: str) -> list[str]:
    pieces = split_steps(text)
    for piece in pieces:
        assert text[piece.start : piece.start + len(piece.text)] == piece.text
    return [piece.text for piece in pieces]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("Mix flour.\nBake it.", ["Mix flour.", "Bake it."]),
        ("1. Mix it.\n2. Bake it.\n\n 10) Eat  it all.", ["Mix it.", "Bake it.", "Eat  it all."]),
        ("- Mix\n* Bake\n• Eat", ["Mix", "Bake", "Eat"]),
        ("Step 1: Mix\nSTEP 2 - Bake\n(3) Eat", ["Mix", "Bake", "Eat"]),
        ("6 cups go in\n1.5 l of milk, too", ["6 cups go in", "1.5 l of milk, too"]),
        ("Roots absorb water.  It flows up.", ["Roots absorb water.", "It flows up."]),
        ("Its pH is 7.5 here. Dr. Smith knows.", ["Its pH is 7.5 here.", "Dr. Smith knows."]),
        ("1. Mix. 2. Bake it at 350. 3. Eat.", ["Mix.", "Bake it at 350.", "Eat."]),
        ("“Rain” falls. It’s wet…", ["“Rain” falls.", "It’s wet…"]),
        ("a\r\nb\rc", ["a", "b", "c"]),
        ("Just one", ["Just one"]),
    ],
)  # fmt: skip
def test_steps_of_texts_as_people_have_them(text, steps):
    assert steps_of(text) == steps


@pytest.mark.parametrize("text", ["", "  \n\t\n", "\r\n", "\u2028"])
def test_an_empty_text_is_refused(text):
    with pytest.raises(KoalaError, match="empty"):
        split_steps(text)


@settings(max_examples=60)
@given(st.text(max_size=80))
def test_any_text_is_split_or_refused_and_offsets_hold(text):
    try:
        steps = steps_of(text)
    except KoalaError:
        return
    assert all(step.strip() == step and step for step in steps)


def test_words_have_lemmas_tags_and_offsets():
    text = "The  roots absorbed Earth's water."
    (analysis,) = analyze([text])
    assert [word.text for word in analysis.words] == split_words(text)
    assert all(text[word.start : word.end] == word.text for word in analysis.words)
    found = {word.text: (word.lemma, word.pos) for word in analysis.words}
    assert found["roots"] == ("root", "NOUN")
    assert found["absorbed"] == ("absorb", "VERB")
    phrases = {" ".join(w.text for w in analysis.words[a:b]) for a, b in analysis.phrases}
    assert phrases == {"The roots", "Earth 's water"}


@pytest.mark.parametrize(
    ("phrase", "stems"),
    [
        ("building_complex", ("build", "complex")),
        ("the bottom of the Oceans", ("bottom", "ocean")),
        ("part of animal", ("anim",)),
        ("of the", ()),
    ],
)
def test_stems_of_content_words(phrase, stems):
    assert stem_content(phrase) == stems
