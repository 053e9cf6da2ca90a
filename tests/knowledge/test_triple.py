"""Checked against the relations listed in the paper, and hand-written sentences."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koala.knowledge.triple import EITHER_SIDE, PHRASES, RELATIONS, Triple

SENTENCES = [
    ("ice", "HasProperty", "cold", "ice is cold"),
    ("lava", "DistinctFrom", "magma", "lava is different from magma"),
    ("plant", "CapableOf", "make oxygen", "plant can make oxygen"),
    ("crater", "ReceivesAction", "formed from impacts", "crater can be formed from impacts"),
    ("basalt", "IsA", "rock", "basalt is a type of rock"),
    ("cloud", "AtLocation", "sky", "cloud can be found in sky"),
    ("eruption", "HasSubevent", "ash fall", "eruption includes ash fall"),
    ("etna", "InstanceOf", "volcano", "etna is an example of volcano"),
    ("combustion", "HasPrerequisite", "oxygen", "combustion requires oxygen"),
    ("dove", "SymbolOf", "peace", "dove is a symbol of peace"),
    ("snore", "Entails", "sleep", "to snore means to sleep"),
    ("rain", "HasFirstSubevent", "condensation", "rain begins with condensation"),
    ("animal", "HasA", "bone", "animal has bone"),
    ("rain", "CreatedBy", "rain clouds", "rain is created by rain clouds"),
    ("coal", "DerivedFrom", "peat", "coal is derived from peat"),
    ("window", "MadeOf", "glass", "window is made of glass"),
    ("isotope", "HasContext", "physics", "isotope is a word used in physics"),
    ("plant", "Desires", "water", "plant wants water"),
    ("oven", "UsedFor", "baking bread", "oven is used for baking bread"),
    ("moon", "LocatedNear", "earth", "moon is near earth"),
    ("water", "DefinedAs", "universal solvent", "water is defined as universal solvent"),
    ("stone", "NotCapableOf", "swim", "stone cannot swim"),
    ("magma", "SimilarTo", "lava", "magma is similar to lava"),
    ("hot", "Antonym", "cold", "hot is the opposite of cold"),
    ("wood", "NotHasProperty", "alive", "wood is not alive"),
    ("simmer", "MannerOf", "boil", "to simmer is a way to boil"),
    ("co2", "Synonym", "carbon dioxide", "co2 means the same as carbon dioxide"),
    ("cat", "NotDesires", "bath", "cat does not want bath"),
    ("leaf", "PartOf", "plant", "leaf is a part of plant"),
    ("bone", "RelatedTo", "skeleton", "bone is related to skeleton"),
    ("storm", "HasLastSubevent", "calm", "storm ends with calm"),
    ("heat", "Causes", "evaporation", "heat causes evaporation"),
]
WITH_GRAMMAR = [
    # Plural heads, also before a preposition; singular words in -s; irregular plurals.
    ("bones", "PartOf", "animal", "bones are a part of animal"),
    ("animals", "HasA", "bones", "animals have bones"),
    ("cans of soup", "AtLocation", "shelf", "cans of soup can be found in shelf"),
    ("layers of sediment", "HasProperty", "thick", "layers of sediment are thick"),
    ("glass of water", "HasProperty", "full", "glass of water is full"),
    ("bacteria", "Causes", "disease", "bacteria cause disease"),
    ("gas", "IsA", "state", "gas is a type of state"),
    ("virus", "Causes", "disease", "virus causes disease"),
    ("cats", "NotDesires", "bath", "cats do not want bath"),
    ("plants", "HasPrerequisite", "water", "plants require water"),
    # Verbs as tails, and as heads of events.
    ("oven", "UsedFor", "bake bread", "oven is used to bake bread"),
    ("cats", "Desires", "play with string", "cats want to play with string"),
    ("exercise", "Causes", "feel tired", "exercise makes you feel tired"),
    ("make bread", "HasPrerequisite", "buy flour", "to make bread requires that you buy flour"),
    ("making cookies", "Causes", "mess", "making cookies causes mess"),
    ("go to sleep", "HasFirstSubevent", "lie down", "to go to sleep begins when you lie down"),
    ("go on vacation", "HasLastSubevent", "return home", "to go on vacation ends with return home"),
]


def test_the_relations_are_the_papers():
    listed = """HasProperty, DistinctFrom, CapableOf, ReceivesAction, IsA, AtLocation, HasSubevent,
        InstanceOf, HasPrerequisite, SymbolOf, Entails, HasFirstSubevent, HasA, CreatedBy,
        DerivedFrom, MadeOf, HasContext, Desires, UsedFor, LocatedNear, DefinedAs, NotCapableOf,
        SimilarTo, Antonym, NotHasProperty, MannerOf, Synonym, NotDesires, PartOf, RelatedTo,
        HasLastSubevent, Causes"""
    assert set(RELATIONS) == {name.strip() for name in listed.split(",")}
    assert len(RELATIONS) == 32


def test_the_relations_that_match_either_side_are_the_papers():
    listed = """DistinctFrom, HasSubevent, HasPrerequisite, Entails, HasFirstSubevent, HasA,
        LocatedNear, DefinedAs, SimilarTo, Antonym, Synonym, PartOf, RelatedTo, HasLastSubevent,
        Causes"""
    assert {name.strip() for name in listed.split(",")} == EITHER_SIDE


@pytest.mark.parametrize(("head", "relation", "tail", "sentence"), SENTENCES)
def test_every_relation_as_a_sentence(head, relation, tail, sentence):
    assert Triple(head, relation, tail).sentence == sentence


def test_every_relation_is_tested():
    assert [relation for _, relation, _, _ in SENTENCES] == list(RELATIONS)


@pytest.mark.parametrize(("head", "relation", "tail", "sentence"), WITH_GRAMMAR)
def test_the_phrase_agrees_with_head_and_tail(head, relation, tail, sentence):
    assert Triple(head, relation, tail).sentence == sentence


def test_a_known_part_of_speech_determines_the_phrase():
    assert Triple("pen", "UsedFor", "draw", tail_pos="v").sentence == "pen is used to draw"
    assert Triple("pen", "UsedFor", "play music", tail_pos="n").sentence == (
        "pen is used for play music"
    )


@given(st.sampled_from(RELATIONS), st.text(min_size=1), st.text(min_size=1))
def test_the_sentence_contains_head_and_tail_unchanged(relation, head, tail):
    sentence = Triple(head, relation, tail).sentence
    assert sentence.removeprefix("to ").startswith(head.removeprefix("to "))
    assert sentence.endswith(f" {tail}")


def test_the_phrase_of_a_relation():
    assert Triple("leaf", "PartOf", "plant").phrase == "is a part of"
    assert all(phrase.strip() for phrase, _ in PHRASES.values())


def test_triples_are_immutable_and_compare_by_value():
    triple = Triple("leaf", "PartOf", "plant", 2.0)
    assert triple == Triple("leaf", "PartOf", "plant", 2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        triple.head = "root"
