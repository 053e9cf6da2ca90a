"""Checked with a small hand-written store and an encoder whose cosines are known."""

import zlib

import numpy as np
import pytest

from koala.document import Procedure, annotate
from koala.encoders import open_encoder
from koala.errors import KoalaError
from koala.knowledge.conceptnet import build_store
from koala.knowledge.retrieval import Match, Retriever, best_cosine
from koala.knowledge.store import Store
from koala.knowledge.triple import Triple
from koala.knowledge.vectors import NeighbourVectors, find_concept

TRIPLES = """\
animal\tHasA\tbone\t2.0
bone\tIsA\tpart of animal\t1.0
bone\tRelatedTo\tanimal\t2.3
bone\tMadeOf\tcalcium\t1.0
bone\tAtLocation\tmuseum\t1.0
bone\tIsA\thard tissue\t4.0
bone\tRelatedTo\tmud\t1.0
fossil\tRelatedTo\tbone\t1.5
skeleton\tMadeOf\tbone\t1.0
"""
TEXT = "An animal dies.\nIts bones sink into the mud.\nMinerals replace the tissue."


class FakeEncoder:
    """Gives every word its own random vector, but for two pairs of words that share one."""

    name = "fake"

    def __init__(self) -> None:
        self.calls: list[int] = []

    def encode(self, texts, *, progress=None):  # noqa: ARG002
        self.calls.append(len(texts))
        return [np.array([self.vector(word) for word in words]) for words in texts]

    @staticmethod
    def vector(word: str):
        alike = {"minerals": "calcium", "pumice": "rock"}
        name = alike.get(word.lower(), word.lower())
        return np.random.default_rng(zlib.crc32(name.encode())).normal(size=64).astype(np.float32)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    (folder / "triples.tsv").write_text(TRIPLES)
    build_store([folder / "triples.tsv"], folder / "small.store")
    return Store.open(folder / "small.store")


def retrieve(
    store, folder, *, encoder=None, n_triples=10, text=TEXT, entities=("bones",), question=""
):
    encoder = encoder or FakeEncoder()
    procedure = Procedure.from_text(text, entities)
    procedure = Procedure("1", procedure.steps, procedure.entities, question)
    vectors = NeighbourVectors(encoder, folder)
    retriever = Retriever(store, encoder, vectors=vectors, n_triples=n_triples)
    return retriever.retrieve(annotate([procedure]))[0]


def sentences(found):
    return [(one.triple.head, one.triple.relation, one.triple.tail) for one in found]


def test_exact_matches_come_first_by_weight_then_fuzzy_ones_by_cosine(store, tmp_path):
    (found,) = retrieve(store, tmp_path)
    assert sentences(found)[:4] == [
        ("bone", "IsA", "hard tissue"),  # half of "hard tissue" is in the text
        # RelatedTo has the same weight, 2.3 − 0.3 = 2.0, and comes last among ties.
        ("animal", "HasA", "bone"),
        ("bone", "RelatedTo", "animal"),
        ("bone", "IsA", "part of animal"),
    ]
    assert [one.match for one in found[:4]] == [Match.EXACT] * 4
    # "calcium" has the vector of "minerals". "mud" is in the text, but its weight of 0.7 is too
    # small for an exact match.
    assert {s[2] for s in sentences(found)[4:6]} == {"calcium", "mud"}
    assert [one.match for one in found[4:]] == [Match.FUZZY] * len(found[4:])
    scores = [one.score for one in found[4:]]
    assert scores == sorted(scores, reverse=True)


def test_without_an_encoder_only_exact_matches_are_found(store, tmp_path):
    (both,) = retrieve(store, tmp_path)
    procedures = annotate([Procedure.from_text(TEXT, ["bones"])])
    ((found,),) = Retriever(store, None).retrieve(procedures)
    assert found == tuple(one for one in both if one.match == Match.EXACT)
    assert len(found) < len(both)


def test_the_entity_is_on_a_side_that_the_relation_allows(store, tmp_path):
    (found,) = retrieve(store, tmp_path)
    assert ("skeleton", "MadeOf", "bone") not in sentences(found)
    assert ("fossil", "RelatedTo", "bone") in sentences(found)


def test_the_question_counts_as_text(store, tmp_path):
    (without,) = retrieve(store, tmp_path, n_triples=5)
    (with_question,) = retrieve(store, tmp_path, n_triples=5, question="What is in a museum?")
    assert ("bone", "AtLocation", "museum") not in sentences(without)
    assert ("bone", "AtLocation", "museum") in sentences(with_question)


TIED = """\
lava\tUsedFor\tash rock\t1.0
lava\tIsA\tcold rock\t1.0
lava\tIsA\tbarren rock\t1.0
lava\tIsA\trock\t1.0
lava\tMadeOf\tpumice rock\t1.0
lava\tRelatedTo\tash\t1.3
lava\tRelatedTo\tbarren ash\t1.3
lava\tIsA\tbarren\t0.9
"""
TIED_TEXT = "Lava cools to rock.\nWind blows ash over minerals."


def test_ties_are_broken_by_overlap_then_by_context(tmp_path):
    (tmp_path / "tied.tsv").write_text(TIED)
    build_store([tmp_path / "tied.tsv"], tmp_path / "tied.store")
    tied = Store.open(tmp_path / "tied.store")
    (found,) = retrieve(tied, tmp_path, text=TIED_TEXT, entities=["lava"])
    exact = [one.triple.tail for one in found if one.match == Match.EXACT]
    # Both words, one of one, half of two; last RelatedTo. "pumice" has the vector of "rock", so the
    # cosine of "pumice rock" with "rock" is 1.
    assert exact[:3] == ["ash rock", "rock", "pumice rock"]
    assert set(exact[3:5]) == {"cold rock", "barren rock"}
    assert exact[5:] == ["ash", "barren ash"]
    procedures = annotate([Procedure.from_text(TIED_TEXT, ["lava"])])
    ((found,),) = Retriever(tied, None).retrieve(procedures)
    # Without an encoder names decide last.
    names = ["ash rock", "rock", "barren rock", "cold rock", "pumice rock", "ash", "barren ash"]
    assert [one.triple.tail for one in found] == names


def test_at_most_n_triples_are_returned(store, tmp_path):
    (found,) = retrieve(store, tmp_path, n_triples=3)
    assert len(found) == 3


def test_an_entity_that_is_not_in_the_store(store, tmp_path):
    assert retrieve(store, tmp_path, entities=["quark"]) == ((),)


def test_all_aliases_are_looked_up(store, tmp_path):
    (found,) = retrieve(store, tmp_path, entities=["quark; bone"])
    assert ("animal", "HasA", "bone") in sentences(found)


def test_each_distinct_triple_is_encoded_once_and_cached(store, tmp_path):
    encoder = FakeEncoder()
    first = retrieve(store, tmp_path, encoder=encoder, entities=["bones", "bone"])
    # All neighbours, once for both entities; *bone* may not be the tail of MadeOf.
    assert encoder.calls[0] == TRIPLES.count("\n") - 1
    again = FakeEncoder()
    second = retrieve(store, tmp_path, encoder=again, entities=["bones", "bone"])
    assert again.calls == [1]  # only the text
    assert second == first


def test_procedures_must_be_annotated(store, tmp_path):
    encoder = FakeEncoder()
    retriever = Retriever(store, encoder, vectors=NeighbourVectors(encoder, tmp_path))
    with pytest.raises(KoalaError, match="not annotated"):
        retriever.retrieve([Procedure.from_text("Bones sink.", ["bones"])])


def test_best_cosine_is_the_maximum_over_all_words():
    generator = np.random.default_rng(0)
    one, other = generator.normal(size=(4, 8)), generator.normal(size=(5, 8))
    expected = [max(a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in other) for a in one]
    ours = best_cosine(one.astype(np.float32), other.astype(np.float32))
    assert ours == pytest.approx(expected, abs=1e-5)
    assert best_cosine(one.astype(np.float32), np.zeros((0, 8), np.float32)).tolist() == [0] * 4


@pytest.mark.parametrize(
    ("triple", "side", "words"),
    [
        (Triple("water", "PartOf", "water cycle", 1.0), "head", ["water"]),
        (Triple("water", "PartOf", "water cycle", 1.0), "tail", ["water", "cycle"]),
        (Triple("leaf", "IsA", "leaf", 1.0), "tail", ["leaf"]),
    ],
)
def test_a_concept_is_found_in_its_sentence(triple, side, words):
    sentence = triple.sentence.split()
    start, end = find_concept(sentence, triple, side)
    assert sentence[start:end] == words
    assert (start == 0) == (side == "head")


def test_the_bundled_store_has_the_triples_of_the_papers_first_figure(tmp_path):
    text = (
        "An animal dies.\nIt is buried in the mud.\nThe soft parts of the body decay.\n"
        "Over a long time the mud becomes rock.\nMinerals replace the bones."
    )
    found = retrieve(Store.open(), tmp_path, encoder=open_encoder(), text=text)[0]
    about_animals = [s for s in sentences(found) if "animal" in f"{s[0]} {s[2]}"]
    assert any(s[1] in ("HasA", "PartOf", "IsA", "AtLocation") for s in about_animals)
