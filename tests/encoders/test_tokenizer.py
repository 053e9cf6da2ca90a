import pytest

from koala.corpora import read_corpus
from koala.encoders.tokenizer import SubwordTokenizer
from koala.encoders.weights import find_weights
from koala.errors import KoalaError
from koala.registry import find_model


def test_minilm_reads_words_as_the_bundled_vocabulary_does(propara):
    """So that a bundled model needs no tokenizer of its own."""
    try:
        theirs = SubwordTokenizer(find_weights("minilm"))
    except KoalaError as error:
        pytest.skip(str(error))
    ours = SubwordTokenizer(None)
    for example in read_corpus(propara).splits["dev"]:
        words = " ".join(step.text for step in example.procedure.steps).split()
        assert ours.split(words) == theirs.split(words)
    assert (ours.first, ours.last, ours.pad) == (theirs.first, theirs.last, theirs.pad)


def test_special_pieces_are_those_the_encoder_was_trained_with():
    # As the published configurations of both say; MPNet's vocabulary has BERT's names as well.
    subwords = SubwordTokenizer(find_model("base"))
    assert (subwords.first, subwords.pad, subwords.last, subwords.mask) == (0, 1, 2, 30526)
    bert = SubwordTokenizer(None)
    assert (bert.pad, bert.first, bert.last, bert.mask) == (0, 101, 102, 103)
