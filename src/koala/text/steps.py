"""Split a text into steps: lines or sentences, without headings, list markers and tables."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from koala.errors import KoalaError
from koala.text.nlp import analyze

_LINE = re.compile(r"([^\r\n\u2028\u2029]*)(?:\r\n|[\r\n\u2028\u2029]|\Z)")

# Characters to strip from a step: white space and zero-width characters.
_EDGE = "".join(c for c in map(chr, range(0x3001)) if c.isspace())
_EDGE += "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"

# Markdown's "# " and "> ", but not ">50 °C".
_PREFIX = re.compile(r"(?:(?:#{1,6}|>)(?:\s+|$))*")
# "3. ", "3.1. ", "3) ", "(3) ", "Step 3: ", "**3.** ", "a) ", "- "; never "3 cups" or "3.5 litres".
_NUMBER = r"(?:step\s+)?\(?\d{1,3}(?:\.\d{1,3})*"
_MARKER = re.compile(
    rf"(?:{_NUMBER}[.):]+|(\*\*|__){_NUMBER}(?:[.):]+\1|\1[.):]+)|step\s+\d{{1,3}}\s*[-–—]"
    r"|\(?[a-z]\)|[-+*•·▪◦‣●–—](?:\s\[[ x]\])?)(?=\s|$)",
    re.IGNORECASE,
)
_BOLD = re.compile(r"(\*\*|__)((?:(?!\1).)+)\1")

# Lines without a step: only punctuation, HTML tags, an image, a link definition or a step number.
_EMPTY = re.compile(
    r"[\W_]*|(?:<[^<>]*>\s*)+|!\[[^\]]*\]\([^)]*\)|\[[^\]]+\]:\s*(?:https?:|[/#<])\S*"
    r"|(?:step\s+)?\d{1,3}\W*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)[^`]*")
_TABLE_RULE = re.compile(r"[|:\s]*-[-|:\s]*")
_UNDERLINE = re.compile(r"={3,}\s*")

_LIST_HEADINGS = frozenset(
    {"equipment", "ingredients", "materials", "reagents", "supplies", "tools", "utensils"}
    | {"what you need", "what you will need", "what you'll need", "you will need", "you'll need"}
)
"""Headings of lists of ingredients or equipment, whose items are not steps."""
_STEP_HEADINGS = frozenset(
    {"directions", "instructions", "method", "methods", "preparation", "procedure", "protocol"}
    | {"recipe", "steps"}
)
"""Headings of steps; they end a list of ingredients or equipment."""
_HEADINGS = (
    _LIST_HEADINGS
    | _STEP_HEADINGS
    | {"background", "description", "introduction", "notes", "overview", "summary", "tips"}
    | {"variations", "warnings"}
)
"""All headings that are recognized without Markdown."""
_LONGEST_HEADING = 60
"""In characters."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a text."""

    text: str
    start: int
    """Offset in the whole text, in characters."""


def split_steps(text: str) -> tuple[Segment, ...]:
    """Split a text into steps: one per line, or one per sentence if it has a single line.

    Numbers, bullets and quote marks before a step are removed; Markdown inside it stays. Blank
    lines, fenced code, tables and headings are skipped. So are the items under `Ingredients` and
    similar headings, if another heading tells where the steps start. If nothing else is left, all
    lines that are not blank are steps.
    """
    lines = [Segment(match[1], match.start()) for match in _LINE.finditer(text)]
    steps = _drop_headings(_read_lines(lines))
    steps = steps or [step for step, _ in map(_strip, lines) if step.text]
    if not steps:
        raise KoalaError("The text is empty. Give one step per line, or a paragraph of sentences.")
    if len(steps) > 1:
        return tuple(steps)
    line = steps[0]
    (analysis,) = analyze([line.text])
    sentences = [_strip(_cut(line, start, end))[0] for start, end in analysis.sentences]
    return tuple(segment for segment in sentences if segment.text)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that may be a step."""

    segment: Segment
    mark: str
    """Number, bullet or Markdown that was removed from its start."""
    is_underlined: bool
    """Whether the next line is `===`, which makes it a heading."""

    @property
    def number(self) -> str:
        """The digits of the step's number, or an empty string."""
        return re.sub(r"\D", "", self.mark)

    @property
    def may_be_heading(self) -> bool:
        """Whether it is neither a sentence nor a list item, and is short or a Markdown heading."""
        text = self.segment.text
        is_item = "#" not in self.mark and self.mark.strip("> ")
        is_short = self.level > 0 or len(text) <= _LONGEST_HEADING
        return is_short and text[-1] not in ".!?;," and not is_item

    @property
    def level(self) -> int:
        """Level of a Markdown heading, or 0; `## Step 3: Bake` is not a heading, but a step."""
        if self.is_underlined:
            return 1
        return 0 if self.number else self.mark.count("#")


def _read_lines(lines: Sequence[Segment]) -> list[_Line]:
    """Give the lines that are not empty, outside of code and tables."""
    blocks = _find_blocks(lines)
    found = []
    for index, line in enumerate(lines):
        segment, mark = _strip(line)
        if index not in blocks and not _EMPTY.fullmatch(segment.text):
            below = lines[index + 1].text if index + 1 < len(lines) else ""
            found.append(_Line(segment, mark, _UNDERLINE.fullmatch(below) is not None))
    return found


def _find_blocks(lines: Sequence[Segment]) -> set[int]:
    """Give the indices of the lines of fenced code and of tables."""
    fences = [index for index, line in enumerate(lines) if _FENCE.fullmatch(line.text)]
    found = set(fences)
    # A last fence that is never closed hides only itself.
    for first, last in zip(fences[::2], fences[1::2], strict=False):
        found.update(range(first, last))
    for index in range(1, len(lines)):
        above, line = lines[index - 1].text, lines[index].text
        if "|" in above and "|" in line and (index - 1 in found or _TABLE_RULE.fullmatch(line)):
            found.update((index - 1, index))
    return found


def _drop_headings(lines: Sequence[_Line]) -> list[Segment]:
    """Remove headings, and lists of ingredients or equipment that a heading of steps ends."""
    steps: list[Segment] = []
    items: list[Segment] = []
    depth = 0  # inside a list of ingredients or equipment: the level of its heading
    for line, below in itertools.zip_longest(lines, lines[1:]):
        is_title = below is not None and below.number == "1" and not line.mark
        name = _name_heading(line.segment.text)
        if not line.may_be_heading or not (name or line.level or is_title):
            (items if depth else steps).append(line.segment)
        elif name in _LIST_HEADINGS:
            depth = line.level or 1
        elif name in _STEP_HEADINGS or (not name and 0 < line.level <= depth):
            depth = 0
            items.clear()
    return steps + items


def _name_heading(text: str) -> str:
    """Give the heading name that a line contains, or an empty string if it is not a heading.

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


def _strip(segment: Segment) -> tuple[Segment, str]:
    """Remove white space, bold marks and list markers around a step; give also the marker."""
    segment = _unwrap(_trim(segment))
    mark = ""
    for pattern in (_PREFIX, _MARKER):
        if match := pattern.match(segment.text):
            mark += match.group()
            segment = _unwrap(_trim(_cut(segment, match.end())))
    return segment, mark


def _trim(segment: Segment) -> Segment:
    text = segment.text.lstrip(_EDGE)
    return Segment(text.rstrip(_EDGE), segment.start + len(segment.text) - len(text))


def _unwrap(segment: Segment) -> Segment:
    """Remove the marks around a line that is bold as a whole."""
    bold = _BOLD.fullmatch(segment.text)
    return _trim(_cut(segment, *bold.span(2))) if bold else segment


def _cut(segment: Segment, start: int, end: int | None = None) -> Segment:
    return Segment(segment.text[start:end], segment.start + start)
