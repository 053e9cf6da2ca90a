import pytest

from koala.corpora import read_corpus
from koala.corpora.coverage import measure_coverage
from koala.corpora.propara import read_released
from koala.corpora.recipes import read_examples as read_recipes
from koala.document import Entity, Procedure, Span, Step, annotate, split_aliases
from koala.errors import KoalaError


def annotated(text: str, *entities: str) -> Procedure:
    (procedure,) = annotate([Procedure.from_text(text, entities)])
    return procedure


def locations_of(text: str) -> list[str]:
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
    assert locations_of(text) == expected


def test_candidates_come_in_order_of_mention_and_say_where():
    procedure = annotated("Rain hits the soil.\nThe soil holds rain.")
    assert [c.name for c in procedure.candidates] == ["rain", "soil"]
    assert procedure.candidates[1].mentions == (Span(0, 3, 4), Span(1, 1, 2))


def test_a_run_of_nouns_makes_no_flood_of_places():
    n_words = 300
    procedure = annotated("rock " * n_words)
    lengths = [span.end - span.start for c in procedure.candidates for span in c.mentions]
    assert max(lengths) == 16
    assert len(lengths) <= 16 * n_words


def test_annotating_twice_gives_the_same():
    procedure = Procedure("1", (Step("Magma cools into rock."),), (Entity("magma"),))
    assert annotate([procedure]) == annotate([procedure])


def test_annotating_together_is_annotating_alone():
    texts = ["Magma cools into rock.", "Rain falls. Rivers carry it to the sea.", "Bake the bread."]
    procedures = [Procedure.from_text(text, ["rain"]) for text in texts]
    assert annotate(procedures) == [annotate([procedure])[0] for procedure in procedures]


def test_candidates_reach_the_recall_of_the_paper_without_flooding(propara):
    coverage = measure_coverage(read_released(propara / "csv").splits["dev"])
    assert coverage.location_recall >= 0.87
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


def parts_of(text: str, *entities: str) -> list[list[str]]:
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
        # Each says which butter it is; where only one is left, it is that one.
        (("peanut butter", "butter"), [["peanut butter"], ["butter"]]),
        (("peanut butter",), [["peanut butter", "butter"]]),
        # An adjective alone is no mention.
        (("hot sauce",), [[]]),
        (("garlic clove", "cloves"), [["garlic"], []]),
    ],
)
def test_parts_of_a_name_are_mentions(entities, mentions):
    text = "Heat the oil until hot.\nStir the peanut butter, the butter and the garlic in."
    assert parts_of(text, *entities) == mentions


def test_places_may_be_single_nouns_and_known_beforehand():
    procedure = Procedure.from_text("Put the soft dough on a sheet.\nChill it, then bake.")
    known = ("fridge", "sheet")
    (found,) = annotate([procedure], has_phrases=False, known_locations=known)
    assert [(c.name, c.number, len(c.mentions)) for c in found.candidates] == [
        ("dough", 0, 1),
        ("fridge", 1, 0),
        ("sheet", 2, 1),
    ]


def test_more_first_uses_of_ingredients_are_mentions_by_parts(data):
    examples = read_recipes(data / "recipes" / "dev.jsonl")
    shares = []
    for has_parts in (False, True):
        procedures = annotate([e.procedure for e in examples], has_parts=has_parts)
        firsts = [
            used.index(True) in {span.step for span in entity.mentions}
            for procedure, example in zip(procedures, examples, strict=True)
            for entity, used in zip(procedure.entities, example.takes_part, strict=True)
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
def test_locations_keep_the_form_that_the_text_has(text, surface, name):
    found = {candidate.surface: candidate.name for candidate in annotated(text).candidates}
    assert surface in found
    assert name is None or found[surface] == name
