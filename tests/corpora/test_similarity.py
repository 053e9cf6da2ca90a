"""Similarity of texts."""

import math

from koala.corpora.similarity import find_pairs
from koala.document import Procedure, Step


def build(*texts: str) -> list[Procedure]:
    return [Procedure(str(n), (Step(text),)) for n, text in enumerate(texts)]


def test_cosines_match_a_calculation_by_hand():
    one, two, three = build("copper wire", "copper pipe", "garden soil")
    (pair,) = find_pairs([one, two, three], least=0.01)
    # copper occurs in two of three texts, wire and pipe in one
    common, rare = math.log(3 / 2), math.log(3)
    assert (pair.first, pair.second) == (1, 0)
    assert math.isclose(pair.cosine, common**2 / (common**2 + rare**2))


def test_procedures_are_compared_with_others():
    pairs = find_pairs(build("copper wire", "soil"), build("copper wire", "air"), least=0.9)
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 0)]
