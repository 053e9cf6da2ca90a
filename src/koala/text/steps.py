"""A text as people have it → its steps: lines or sentences, without headings, marks and tables."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from koala.errors import KoalaError
from koala.text.nlp import analyze

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
