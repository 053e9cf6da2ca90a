"""Checked against a TF-IDF of plain dictionaries, without hashing, blocks or numpy."""

import math
import re
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koala.corpora import read_corpus
from koala.document import Procedure, Step
from koala.errors import KoalaError
from koala.pretraining.wikipedia import (
    Paragraph,
    Retriever,
    read_paragraphs,
    retrieval,
    retrieve_paragraphs,
)
from koala.pretraining.wikipedia.ngrams import hash_ngrams
from koala.text.nlp import is_content

CORPUS = [
    Paragraph("Leaf", "Leaves take in carbon dioxide, and the roots absorb water from the soil."),
    Paragraph("Photosynthesis", "Plants use sunlight to turn water and carbon dioxide to sugar."),
    Paragraph("Root", "Roots absorb water. Roots hold the plant in the soil."),
    Paragraph("Rain", "Water vapour cools in clouds and falls as rain."),
    Paragraph("Iron", "Iron ore melts in a furnace."),
    Paragraph("Steel", "A furnace turns iron into steel."),
    Paragraph("Music", "The orchestra plays a symphony."),
    Paragraph("Chess", "The queen is the strongest piece."),
    Paragraph("Sugar", "Sugar cane is crushed; its juice is boiled."),
    Paragraph("Oil", "Dead plankton sinks and turns into oil under pressure."),
]
QUERIES = [
    Procedure("plants", (Step("Roots absorb water."), Step("The leaf takes in carbon dioxide."))),
    Procedure("steel", (Step("Iron ore goes into the furnace."), Step("Iron's heat melts it."))),
    Procedure("nothing", (Step("It is what it is."),)),
]


# Parts of plant's, don't … after splitting at the apostrophe.
CONTRACTED = (
    set("smdt")
    | {"ll", "re", "ve", "don"}
    | {f"{verb}n" for verb in ["are", "could", "did", "does", "has", "have", "is", "should", "was"]}
    | {"weren", "wouldn"}
)


def split_grams(text):
    tokens = re.findall(r"[^\W_]+|[^\w\s]", text.lower())
    content = [is_content(token) and token not in CONTRACTED for token in tokens]
    pairs = zip(tokens, tokens[1:], content, content[1:], strict=False)
    return Counter(
        [token for token, is_kept in zip(tokens, content, strict=True) if is_kept]
        + [f"{one} {two}" for one, two, first, second in pairs if first and second]
    )


def rank_plainly(query, corpus):
    """Score every paragraph with dictionaries; the best comes first, scores of 0 are left out."""
    documents = [split_grams(paragraph.text) for paragraph in corpus]

    def idf(gram):
        n = sum(gram in document for document in documents)
        return max(0.0, math.log((len(corpus) - n + 0.5) / (n + 0.5)))

    grams = split_grams(" ".join(step.text for step in query.steps))
    weights = {gram: math.log(count + 1) * idf(gram) ** 2 for gram, count in grams.items()}
    scored = [
        (-sum(math.log(doc[g] + 1) * weight for g, weight in weights.items()), *paragraph)
        for doc, paragraph in zip(documents, corpus, strict=True)
    ]
    return sorted(entry for entry in scored if entry[0] < 0)


def run(queries, corpus, **options):
    retriever = Retriever(queries, **options)
    retriever.count(iter(corpus))
    retriever.rank(iter(corpus))
    return retriever.results()


def procedure(text, id="query"):
    return Procedure(id, (Step(text),))


def test_ranks_and_scores_agree_with_plain_dictionaries():
    found = run(QUERIES, CORPUS)
    for query in QUERIES:
        mine = [one for one in found if one.query == query.id]
        truth = rank_plainly(query, CORPUS)
        assert [(one.title, one.text) for one in mine] == [entry[1:] for entry in truth]
        assert [one.score for one in mine] == pytest.approx([-e[0] for e in truth], abs=1e-6)
        assert [one.rank for one in mine] == list(range(1, len(truth) + 1))
    assert [one.title for one in found if one.query == "plants"][:2] == ["Leaf", "Root"]
    assert {one.query for one in found} == {"plants", "steel"}


words = st.sampled_from(
    ["water", "root", "ice", "the", "of", "heat,", "steam", "cloud", "rain", "sun.", "leaf's"]
)
texts = st.lists(words, min_size=1, max_size=8).map(" ".join)
corpora = st.lists(st.builds(Paragraph, st.sampled_from("ABC"), texts), min_size=1, max_size=30)


@given(texts, corpora)
def test_random_scores_agree_with_plain_dictionaries(text, corpus):
    query = procedure(text + " water")
    # Distinct texts only: a duplicate would be counted twice, but returned once.
    corpus = list({paragraph.text: paragraph for paragraph in corpus}.values())
    truth = {e[2]: -e[0] for e in rank_plainly(query, corpus) if e[2] != text + " water"}
    found = {one.text: one.score for one in run([query], corpus)}
    assert found == pytest.approx(truth, abs=1e-6)


@given(st.lists(texts, min_size=1, max_size=4), corpora, st.integers(1, 5), st.integers(1, 31))
def test_block_size_and_order_change_nothing(texts, corpus, k, block_size):
    queries = [procedure(text, str(index)) for index, text in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        whole = run(queries, corpus, k=k)
        patch.setattr(retrieval, "_PAIRS_PER_BATCH", 7)
        patch.setattr(retrieval, "_FILTER_BITS", 3)
        assert run(queries, corpus[::-1], k=k, block_size=block_size) == whole


@given(corpora, st.integers(1, 5), st.integers(1, 4))
def test_parts_ranked_separately_and_merged_change_nothing(corpus, k, n_parts):
    queries = [procedure("water, heat and rain"), procedure("the leaf's cloud", "other")]
    merged = Retriever(queries, k=k)
    parts = [corpus[part::n_parts] for part in range(n_parts)]
    tallies, bests = [], []
    for part in parts:
        separate = merged.copy_empty()
        separate.count(part)
        tallies.append(separate.tally)
    for tally in tallies:
        merged.add_tally(tally)
    for part in parts:
        separate = merged.copy_empty()
        separate.rank(part)
        bests.append(separate.best)
    for best in reversed(bests):
        merged.add_best(best)
    assert merged.results() == run(queries, corpus, k=k)


def test_k_limits_the_list():
    everything = [one for one in run(QUERIES, CORPUS) if one.query == "plants"]
    assert run(QUERIES[:1], CORPUS, k=2) == everything[:2]


def test_ties_are_in_order_of_title_then_text():
    others = [Paragraph("Z", f"word{n} other{n}") for n in range(9)]
    equal = [Paragraph("B", "rain falls"), Paragraph("A", "rain stops"), Paragraph("A", "rain on")]
    found = run([procedure("rain")], equal + others, block_size=2)
    assert [(one.title, one.text) for one in found] == [
        ("A", "rain on"),
        ("A", "rain stops"),
        ("B", "rain falls"),
    ]


def test_a_text_is_returned_once_and_displaces_no_other():
    copies = [Paragraph(title, "rain, rain and rain") for title in "DCBA"]
    others = [Paragraph("Z", f"word{n} other{n}") for n in range(12)]
    corpus = [*copies, Paragraph("E", "some rain"), *others]
    for block_size in (1, 2, 3, 100):
        found = run([procedure("rain")], corpus, k=2, block_size=block_size)
        assert [one.title for one in found] == ["A", "E"]


def test_a_procedures_own_text_is_left_out_for_that_procedure_only():
    own = " ".join(step.text for step in QUERIES[0].steps)
    corpus = [*CORPUS, Paragraph("Copy", own.upper().replace(" ", "  "))]
    other = procedure("Roots take in water.", "other")
    found = run([QUERIES[0], other], corpus)
    assert "Copy" not in {one.title for one in found if one.query == "plants"}
    assert "Copy" in {one.title for one in found if one.query == "other"}


def test_paragraphs_are_read_block_by_block():
    taken = 0

    def stream():
        nonlocal taken
        for paragraph in CORPUS:
            taken += 1
            assert retriever.n_paragraphs >= taken - 2
            yield paragraph

    retriever = Retriever(QUERIES, block_size=2)
    retriever.count(stream())
    assert retriever.n_paragraphs == taken == len(CORPUS)


@given(st.lists(st.text(st.characters(codec="utf-8") | st.sampled_from("ab _.,'é\n")), max_size=5))
def test_every_ngram_has_its_own_hash(texts):
    rows, hashes = hash_ngrams(texts)
    mine = Counter(zip(rows.tolist(), hashes.tolist(), strict=True))
    truth = Counter()
    for row, text in enumerate(texts):
        truth.update({(row, gram): count for gram, count in split_grams(text).items()})
    assert sorted(mine.values()) == sorted(truth.values())
    assert len(set(hashes.tolist())) == len({gram for _, gram in truth})


def test_hashes_are_the_same_in_every_run():
    _, hashes = hash_ngrams(["Roots absorb"])
    assert [f"{value:016x}" for value in hashes.tolist()] == [
        "0969ca90ff5baf06",
        "dc49116ad8eea7e8",
        "baed09814eb272ee",
    ]


def test_invalid_calls_are_refused():
    with pytest.raises(KoalaError, match="none was given"):
        Retriever([])
    with pytest.raises(KoalaError, match="have the id 'plants'"):
        Retriever([QUERIES[0], QUERIES[0]])
    with pytest.raises(KoalaError, match="of at least 1, got 0 and 1024"):
        Retriever(QUERIES, k=0)
    with pytest.raises(KoalaError, match="Call count"):
        Retriever(QUERIES).rank(CORPUS)


def test_files_are_read_twice_with_one_progress(tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text("".join(f"{title}\t{text}\n" for title, text in CORPUS), "utf-8")
    reports = []
    found = retrieve_paragraphs(
        QUERIES, [path], least_words=1, progress=lambda *numbers: reports.append(numbers)
    )
    size = path.stat().st_size
    assert found == run(QUERIES, CORPUS)
    assert reports == [(size, 2 * size), (2 * size, 2 * size)]
    with pytest.raises(KoalaError, match="no paragraph of at least 999 words"):
        retrieve_paragraphs(QUERIES, [path], least_words=999)


def test_photosynthesis_finds_photosynthesis(data, propara):
    splits = read_corpus(propara).splits.values()
    procedures = [example.procedure for examples in splits for example in examples]
    query = next(p for p in procedures if "photosynthesis" in p.question.lower())
    stream = read_paragraphs([data / "wikipedia" / "openstax_ccby" / "paragraphs.tsv.xz"])
    corpus = list(islice(stream, 4000))
    found = run([query], corpus, k=10)
    assert len(found) == 10
    about = re.compile("photosynthe|sunlight|chloro|carbon dioxide", re.IGNORECASE)
    assert sum(bool(about.search(one.text)) for one in found) >= 8
    assert any("photosynthesis" in one.title.lower() for one in found)
    truth = rank_plainly(query, corpus)[:10]
    assert [one.score for one in found] == pytest.approx([-e[0] for e in truth], abs=1e-6)
