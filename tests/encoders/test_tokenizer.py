import pytest

from koala.corpora import read_corpus
from koala.encoders.tokenizer import SubwordTokenizer
from koala.encoders.weights import find_weights
from koala.errors import KoalaError
from koala.registry import find_model


def test_minilm_splits_words_like_the_bundled_vocabulary(propara):
    """Bundled models of MiniLM therefore need no tokenizer file."""
    try:
        theirs = SubwordTokenizer(find_weights("minilm"))
    except KoalaError as error:
        pytest.skip(str(error))
    ours = SubwordTokenizer(None)
    for example in read_corpus(propara).splits["dev"]:
        words = " ".join(step.text for step in example.procedure.steps).split()
        assert ours.split(words) == theirs.split(words)
    assert (ours.first, ours.last, ours.pad) == (theirs.first, theirs.last, theirs.pad)


def test_special_tokens_are_those_the_encoder_was_trained_with():
    # Ids of the published configurations; MPNet's vocabulary also has BERT's special tokens.
    mpnet = SubwordTokenizer(find_model("base"))
    assert (mpnet.first, mpnet.pad, mpnet.last, mpnet.mask) == (0, 1, 2, 30526)
    bert = SubwordTokenizer(None)
    assert (bert.pad, bert.first, bert.last, bert.mask) == (0, 101, 102, 103)
