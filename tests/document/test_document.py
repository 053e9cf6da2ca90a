"""Procedures: aliases, mentions, location candidates."""

from dataclasses import replace

import pytest

from koala.corpora import read_corpus
from koala.corpora.coverage import measure_coverage
from koala.corpora.propara import read_released
from koala.corpora.recipes import read_examples as read_recipes
from koala.document import (
    Convention,
    Entity,
    Procedure,
    Span,
    Step,
    annotate,
    split_aliases,
)
from koala.errors import KoalaError


def annotated(text: str, *entities: str) -> Procedure:
    (procedure,) = annotate([Procedure.from_text(text, entities)])
    return procedure


def locations_of(text: str, convention: Convention = "propara") -> list[str]:
    procedure = replace(Procedure.from_text(text, ()), convention=convention)
    return [candidate.name for candidate in annotate([procedure])[0].candidates]


@pytest.mark.parametrize(
    ("name", "aliases"),
    [("plant; animal", ("plant", "animal")), ("plant", ("plant",)), ("a;;b ;", ("a", "b"))],
)
def test_names_are_split_into_aliases(name, aliases):
    assert split_aliases(name) == aliases


@pytest.mark.parametrize("name", ["", " ", ";", " ; ;"])
def test_an_entity_without_a_name_is_rejected(name):
    with pytest.raises(KoalaError, match="empty"):
        Procedure.from_text("Water falls.", [name])


def test_steps_have_their_offsets_in_the_text():
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


def test_an_entity_that_the_text_does_not_name_has_no_mentions():
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
    assert locations_of(text) == expected


def test_pairs_are_no_candidates_under_the_convention_of_the_corpus():
    assert locations_of("It enters rivers and lakes.", "koala") == ["river", "lake"]


def test_candidates_are_in_order_of_mention():
    procedure = annotated("Rain hits the soil.\nThe soil holds rain.")
    assert [c.name for c in procedure.candidates] == ["rain", "soil"]
    assert procedure.candidates[1].mentions == (Span(0, 3, 4), Span(1, 1, 2))


def test_the_number_of_candidates_in_a_long_row_of_nouns_is_limited():
    n_words = 300
    procedure = annotated("rock " * n_words)
    lengths = [span.end - span.start for c in procedure.candidates for span in c.mentions]
    assert max(lengths) == 16
    assert len(lengths) <= 16 * n_words


def test_annotation_is_deterministic():
    procedure = Procedure("1", (Step("Magma cools into rock."),), (Entity("magma"),))
    assert annotate([procedure]) == annotate([procedure])


def test_annotation_does_not_depend_on_other_procedures():
    texts = ["Magma cools into rock.", "Rain falls. Rivers carry it to the sea.", "Bake the bread."]
    procedures = [Procedure.from_text(text, ["rain"]) for text in texts]
    assert annotate(procedures) == [annotate([procedure])[0] for procedure in procedures]


def test_candidates_reach_the_recall_of_the_paper(propara):
    coverage = measure_coverage(read_released(propara / "csv").splits["dev"])
    assert coverage.location_recall >= 0.87
    assert coverage.cell_recall >= 0.87
    assert coverage.candidates_per_procedure < 20


def test_candidates_have_letters_or_digits(data):
    examples = [
        *read_corpus(data / "propara").splits["train"],
        *read_corpus(data / "recipes").splits["dev"],
    ]
    for procedure in annotate([example.procedure for example in examples]):
        assert all(any(map(str.isalnum, c.name)) for c in procedure.candidates)


def test_a_name_without_words_has_no_mentions():
    (procedure,) = annotate([Procedure("1", (Step("Rain falls."),), (Entity(" "),))])
    assert procedure.entities[0].mentions == ()


def mentions_by_parts(text: str, *entities: str) -> list[list[str]]:
    (procedure,) = annotate([Procedure.from_text(text, entities)], has_parts=True)
    return [
        [
            " ".join(w.text for w in procedure.steps[span.step].words[span.start : span.end])
            for span in entity.mentions
        ]
        for entity in procedure.entities
    ]


@pytest.mark.parametrize(
    ("entities", "mentions"),
    [
        (("olive oil",), [["oil"]]),
        # "butter" is a mention of peanut butter only if butter is not an entity.
        (("peanut butter", "butter"), [["peanut butter"], ["butter"]]),
        (("peanut butter",), [["peanut butter", "butter"]]),
        # An adjective alone is not a mention.
        (("hot sauce",), [[]]),
        (("garlic clove", "cloves"), [["garlic"], []]),
    ],
)
def test_parts_of_a_name_are_mentions(entities, mentions):
    text = "Heat the oil until hot.\nStir the peanut butter, the butter and the garlic in."
    assert mentions_by_parts(text, *entities) == mentions


def test_candidates_can_be_single_nouns_and_known_locations():
    procedure = Procedure.from_text("Put the soft dough on a sheet.\nChill it, then bake.")
    known = ("fridge", "sheet")
    (found,) = annotate([procedure], has_phrases=False, known_locations=known)
    assert [(c.name, c.number, len(c.mentions)) for c in found.candidates] == [
        ("dough", 0, 1),
        ("fridge", 1, 0),
        ("sheet", 2, 1),
    ]


def test_parts_of_names_find_more_first_uses_of_ingredients(data):
    examples = read_recipes(data / "recipes" / "dev.jsonl")
    shares = []
    for has_parts in (False, True):
        procedures = annotate([e.procedure for e in examples], has_parts=has_parts)
        firsts = [
            used.index(True) in {span.step for span in entity.mentions}
            for procedure, example in zip(procedures, examples, strict=True)
            for entity, used in zip(procedure.entities, example.participation, strict=True)
            if any(used)
        ]
        shares.append(sum(firsts) / len(firsts))
    whole, parts = shares
    assert parts > whole + 0.05


@pytest.mark.parametrize(
    ("text", "surface", "name"),
    [
        ("Hang it in the drying cabinet.", "drying cabinet", "dry cabinet"),
        ("Sort them into the morning compartments.", "morning compartments", None),
        ("Pour it into a round-bottom flask.", "round-bottom flask", None),
        ("Weigh it into a 50 ml tube.", "50 ml tube", None),
        ("Put the paper in a weighed crucible.", "weighed crucible", None),
        ("Collect it in flask 2.", "flask 2", None),
        ("Coffee grounds stay in the filter.", "coffee grounds", "coffee ground"),
    ],
)
def test_candidates_have_the_form_of_the_text(text, surface, name):
    found = {candidate.surface: candidate.name for candidate in annotated(text).candidates}
    assert surface in found
    assert name is None or found[surface] == name
