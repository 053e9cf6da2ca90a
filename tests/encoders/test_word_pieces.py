import pytest

from koala.corpora import read_corpus
from koala.encoders.weights import find_weights
from koala.encoders.word_pieces import WordPieces
from koala.errors import KoalaError


def test_minilm_reads_words_as_the_bundled_vocabulary_does(propara):
    """So that a bundled model needs no tokenizer of its own."""
    try:
        theirs = WordPieces(find_weights("minilm"))
    except KoalaError as error:
        pytest.skip(str(error))
    ours = WordPieces(None)
    for example in read_corpus(propara).splits["dev"]:
        words = " ".join(step.text for step in example.procedure.steps).split()
        assert ours.split(words) == theirs.split(words)
    assert (ours.first, ours.last, ours.pad) == (theirs.first, theirs.last, theirs.pad)
