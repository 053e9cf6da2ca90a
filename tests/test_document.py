import pytest

from koala.corpora import read_corpus
from koala.corpora.coverage import measure_coverage
from koala.corpora.propara import read_released
from koala.document import Entity, Procedure, Span, Step, annotate, split_aliases
from koala.errors import KoalaError


def annotated(text: str, *entities: str) -> Procedure:
    (procedure,) = annotate([Procedure.from_text(text, entities)])
    return procedure


def places_of(text: str) -> list[str]:
    return [candidate.name for candidate in annotated(text).candidates]


@pytest.mark.parametrize(
    ("name", "aliases"),
    [("plant; animal", ("plant", "animal")), ("plant", ("plant",)), ("a;;b ;", ("a", "b"))],
)
def test_aliases(name, aliases):
    assert split_aliases(name) == aliases


@pytest.mark.parametrize("name", ["", " ", ";", " ; ;"])
def test_an_entity_without_a_name_is_refused(name):
    with pytest.raises(KoalaError, match="empty"):
        Procedure.from_text("Water falls.", [name])


def test_steps_know_where_they_start():
    text = "1. Roots absorb water.\n2. It rises."
    procedure = Procedure.from_text(text)
    assert [text[step.start :].startswith(step.text) for step in procedure.steps] == [True, True]


def test_mentions_match_by_lemma_alias_and_case():
    procedure = annotated(
        "Plants grow.\nThe weak acids meet an acid.", "plant; tree", "weak acid; acid"
    )
    plant, acid = procedure.entities
    assert plant.mentions == (Span(0, 0, 1),)
    # "acid" inside "weak acids" is no second mention.
    assert acid.mentions == (Span(1, 1, 3), Span(1, 5, 6))


def test_an_entity_that_is_not_named_has_no_mentions():
    assert annotated("Plants grow.", "uranium").entities[0].mentions == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It passes the large intestine.", ["large intestine", "intestine"]),
        ("It lies at the bottom of the ocean.", ["bottom of the ocean", "bottom", "ocean"]),
        ("It enters rivers and lakes.", ["river and lake", "river", "lake"]),
        ("It leaves the Earth's crust.", ["earth 's crust", "earth", "crust"]),
        ("It goes to the sorting centers.", ["sort center", "center"]),
        ("They are kept underground.", ["underground"]),
        ("It moves upwards.", ["upward"]),
        ("It runs.", []),
    ],
)
def test_candidates_of_worked_examples(text, expected):
    assert places_of(text) == expected


def test_candidates_come_in_order_of_mention_and_say_where():
    procedure = annotated("Rain hits the soil.\nThe soil holds rain.")
    assert [c.name for c in procedure.candidates] == ["rain", "soil"]
    assert procedure.candidates[1].mentions == (Span(0, 3, 4), Span(1, 1, 2))


def test_annotating_twice_gives_the_same():
    procedure = Procedure("1", (Step("Magma cools into rock."),), (Entity("magma"),))
    assert annotate([procedure]) == annotate([procedure])


def test_annotating_together_is_annotating_alone():
    texts = ["Magma cools into rock.", "Rain falls. Rivers carry it to the sea.", "Bake the bread."]
    procedures = [Procedure.from_text(text, ["rain"]) for text in texts]
    assert annotate(procedures) == [annotate([procedure])[0] for procedure in procedures]


def test_candidates_reach_the_recall_of_the_paper_without_flooding(propara):
    coverage = measure_coverage(read_released(propara / "csv").splits["dev"])
    assert coverage.place_recall >= 0.87
    assert coverage.cell_recall >= 0.87
    assert coverage.candidates_per_procedure < 20


def test_no_candidate_is_a_mark_of_the_grid(data):
    examples = [
        *read_corpus(data / "propara").splits["train"],
        *read_corpus(data / "recipes").splits["dev"],
    ]
    for procedure in annotate([example.procedure for example in examples]):
        assert all(any(map(str.isalnum, c.name)) for c in procedure.candidates)


def test_a_name_without_words_is_nowhere():
    (procedure,) = annotate([Procedure("1", (Step("Rain falls."),), (Entity(" "),))])
    assert procedure.entities[0].mentions == ()
