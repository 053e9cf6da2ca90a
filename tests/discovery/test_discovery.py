import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koala.corpora import read_corpus
from koala.discovery import find_entities
from koala.discovery.candidates import find_candidate_entities, find_mentions
from koala.discovery.features import describe_procedures
from koala.discovery.ranker import WEIGHTS, Ranker, choose, load_ranker
from koala.discovery.roles import find_roles
from koala.discovery.tags import correct_tags
from koala.document import Procedure, Step, annotate, build_entity
from koala.encoders import open_encoder
from koala.errors import FileError
from koala.evaluation.discovery import score_entities
from koala.text.nlp import Word

REPORTED = 0.79
"""F1 on dev as in `results/entities.md`, rounded down."""

LEAF = "Roots absorb water from the soil.\nThe water flows to the leaf.\nThe leaf makes sugar."


def annotated(text: str) -> Procedure:
    (procedure,) = annotate([Procedure.from_text(text)])
    return procedure


def corrected(text: str) -> list[Step]:
    return [replace(step, words=correct_tags(step.words)) for step in annotated(text).steps]


def names_of(text: str) -> list[str]:
    return [each.name for each in find_candidate_entities(corrected(text))]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The plant grows.\nTwo plants die.\nA plant is eaten.", ["plant; plants"]),
        ("Crude oil forms.\nThe oil rises.\nPumps lift the oil.", ["oil; crude oil", "pumps"]),
        ("It melts.\nThey leave it.\nEverything dries.", []),
        ("Layers of the sediment are left.", ["layers of the sediment", "sediment"]),
        ("Add 20 μl of the buffer for 5 minutes.", ["buffer"]),
        ("Grease a 12-inch pan.", ["pan"]),
        ("The DNA meets the RNA in London.", ["DNA", "RNA", "London"]),
        ("Add a splash of milk.\nStir in a spoonful of honey.", ["milk", "honey"]),
        ("Add 5 pmol of primer to a total of 20 ml of buffer.", ["primer", "total", "buffer"]),
        ("Cut a piece of paper.\nFold the paper.", ["piece of paper; paper"]),
        ("Water boils.\nDrops of water hit the lid.", ["water", "drops of water", "lid"]),
        ("A swan hisses and the kids run off.", ["swan", "kids"]),
        ("The steam condenses to water.", ["steam", "water"]),
        ("Boil more water.\nAdd the same water.", ["water"]),
        ("- ? ; ...", []),
    ],
)
def test_candidate_entities_and_their_names(text, names):
    assert names_of(text) == names


def test_a_noun_is_split_when_modifiers_distinguish_entities():
    text = "Hot water enters the tank.\nCold water leaves the tank.\nThe water cools."
    assert names_of(text) == ["hot water", "tank", "cold water"]


def test_a_noun_mostly_without_modifier_is_not_split():
    text = "Dry beads settle.\nThe beads sink.\nWarm beads rise.\nThe beads burst."
    assert names_of(text) == ["beads; dry beads; warm beads"]


def test_a_shape_and_its_material_that_part_are_two_candidates():
    text = "Layers of mud settle.\nThe layers sink into the mud."
    assert names_of(text) == ["layers of mud; layers", "mud"]


def test_every_mention_counts_once():
    steps = corrected("Layers of mud are covered with sand.\nThe layers sink into the mud.")
    mentions = [mention for each in find_candidate_entities(steps) for mention in each.mentions]
    assert len(mentions) == len(set(mentions)) == 5


def test_lower_casing_may_lengthen_a_word():
    # "İ" has one character, "i̇" two: offsets must refer to the original text.
    assert names_of("The İron rod and the steel plate are put in the furnace.")[1:] == [
        "steel plate",
        "furnace",
    ]


def word_of(form: str, lemma: str, pos: str) -> Word:
    return Word(form, lemma, pos, 0, len(form))


@pytest.mark.parametrize(
    ("tagged", "verb"),
    [
        ("The/DET seed/NOUN germinates/germinate/NOUN ./PUNCT", 2),
        ("The/DET cells/cell/NOUN divide/NOUN", 2),
        ("Ice/NOUN forms/form/NOUN inside/ADP a/DET cloud/NOUN", 1),
        ("Place/NOUN cake/NOUN pan/NOUN into/ADP the/DET oven/NOUN", 0),
        ("Heat/NOUN the/DET oil/NOUN until/SCONJ it/PRON boils/boil/VERB", 0),
        ("The/DET cake/NOUN pan/NOUN", None),
        ("Layers/layer/NOUN of/ADP sediment/NOUN", None),
        ("Stones/stone/NOUN under/ADP the/DET ice/NOUN", None),
        ("A/DET swan/NOUN hisses/hiss/NOUN and/CCONJ kids/kid/NOUN run/VERB", 2),
        ("A/DET gas/NOUN rises/rise/VERB", None),
        ("Salt/NOUN water/NOUN", None),
        ("The/DET pan/NOUN juices/juice/NOUN boil/VERB", None),
        ("", None),
    ],
)
def test_verbs_that_were_tagged_as_nouns(tagged, verb):
    parts = [each.split("/") for each in tagged.split()]
    words = [word_of(part[0], part[-2].lower(), part[-1]) for part in parts]
    changed = correct_tags(words)
    assert [i for i, word in enumerate(changed) if word != words[i]] == (
        [] if verb is None else [verb]
    )
    assert verb is None or changed[verb].pos == "VERB"


@pytest.mark.parametrize(
    ("text", "noun", "role", "verb"),
    [
        ("The roots absorb water.", "roots", "subject", "absorb"),
        ("The roots absorb water.", "water", "object", "absorb"),
        ("The water is slowly absorbed by the roots.", "water", "passive", "absorbed"),
        ("The water is slowly absorbed by the roots.", "roots", "by", "absorbed"),
        ("The glacier is moving.", "glacier", "subject", "moving"),
        ("Pour the batter into the greased pan.", "pan", "into", "Pour"),
        ("Add 2 cups of flour to the bowl.", "flour", "object", "Add"),
        ("Combine the flour, the sugar and some salt.", "salt", "object", "Combine"),
        ("When the rain falls, the river rises.", "river", "subject", "rises"),
    ],
)
def test_roles(text, noun, role, verb):
    (step,) = corrected(text)
    mentions = find_mentions(step.words)
    roles = dict(
        zip(
            (step.words[m.head].text for m in mentions),
            find_roles(step.words, mentions),
            strict=True,
        )
    )
    assert (roles[noun].name, step.words[roles[noun].verb].text) == (role, verb)


def test_entities_are_found_in_order_of_first_mention():
    (found,) = find_entities([annotated(LEAF)])
    assert found == ("water", "leaf", "sugar")


def test_plain_text_is_annotated_first():
    plain = Procedure.from_text(LEAF)
    assert find_entities([plain, annotated(LEAF)]) == [("water", "leaf", "sugar")] * 2


def test_results_do_not_depend_on_other_texts():
    other = annotated("Magma rises through the vent.\nLava flows down the volcano.")
    alone = find_entities([other])
    assert find_entities([annotated(LEAF), other])[1:] == alone
    assert find_entities([replace(other, id="x", question="How?")]) == alone


def test_the_best_candidate_is_found_if_none_reaches_the_threshold():
    (found,) = find_entities([annotated("It stays in the box on the shelf.")])
    assert len(found) == 1


@pytest.mark.parametrize("text", ["...", "It is.", "Go!", "5 %"])
def test_a_text_without_noun_phrases_has_no_entities(text):
    assert find_entities([Procedure.from_text(text)]) == [()]


def test_empty_input():
    assert find_entities([]) == []
    assert find_entities([Procedure("empty", (Step(""),))]) == [()]


WORDS = ["Heat", "the", "oil", "oils", "of", "2", "cups", "-", "it", ";", "İon", "DNA", "'s", "a;b"]


@settings(max_examples=30)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=6), min_size=1, max_size=25))
def test_every_found_entity_is_mentioned_in_the_text(words):
    line = " ".join(" ".join(words).split()) or "."
    procedure = Procedure("any", (Step(line), Step("The oil burns.")))
    (names,) = find_entities([procedure])
    (again,) = annotate([replace(procedure, entities=tuple(map(build_entity, names)))])
    assert names
    assert all(entity.mentions for entity in again.entities)


def test_a_hundred_steps_are_searched_to_the_end():
    text = LEAF + "\nThe boat is loaded." * 97 + "\nThe tree releases oxygen."
    (found,) = find_entities([annotated(text)])
    assert {"water", "sugar", "oxygen"} <= set(found)


def test_items_of_a_list_are_found():
    text = "Mix the flour, sugar, butter and salt in a bowl.\nPour the batter into a pan."
    (found,) = find_entities([annotated(text)])
    assert {"flour", "sugar", "butter", "salt"} <= set(found)
    assert not {"bowl", "pan"} & set(found)


def test_the_weights_belong_to_the_installed_encoder():
    ranker = load_ranker()
    assert ranker.encoder == open_encoder().name
    assert WEIGHTS.stat().st_size < 150_000


def test_writing_the_weights_reproduces_the_file(tmp_path):
    load_ranker().write(tmp_path / "weights.json")
    assert (tmp_path / "weights.json").read_bytes() == WEIGHTS.read_bytes()


@pytest.mark.parametrize("key", ["encoder", "threshold", "weights", "noun", "verb"])
def test_weights_with_a_missing_key_are_refused(tmp_path, key):
    value = json.loads(WEIGHTS.read_text("utf-8"))
    del value[key]
    (tmp_path / "weights.json").write_text(json.dumps(value))
    with pytest.raises(FileError, match=f"not the weights of an entity ranker.*{key}"):
        Ranker.read(tmp_path / "weights.json")


def test_scores_are_a_logistic_function_of_the_weighted_features():
    ((candidates, descriptions),) = describe_procedures([annotated(LEAF)], open_encoder())
    ranker = load_ranker()
    zero = replace(ranker, weights={}, noun=0 * ranker.noun, verb=0 * ranker.verb)
    assert {zero.score(each) for each in descriptions} == {0.5}
    certain = replace(zero, weights={"bias": 20.0})
    assert certain.choose(descriptions) == list(range(len(candidates)))


def test_choosing():
    assert choose([0.1, 0.6, 0.5], 0.5) == [1, 2]
    assert choose([0.1, 0.3, 0.3], 0.5) == [1]
    assert choose([], 0.5) == []


def test_the_reported_f1(propara):
    examples = read_corpus(propara).splits["dev"]
    procedures = [example.procedure for example in examples]
    found = find_entities([replace(p, entities=(), question="") for p in procedures])
    scores = score_entities(
        {p.id: names for p, names in zip(procedures, found, strict=True)},
        {p.id: [entity.name for entity in p.entities] for p in procedures},
    )
    assert scores.score.f1 >= REPORTED
