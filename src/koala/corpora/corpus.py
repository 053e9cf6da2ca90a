"""What every corpus is: examples in three splits, and the figures of the paper's table 1."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from koala.document import Procedure
from koala.errors import KoalaError
from koala.grid import Grid
from koala.text.nlp import split_words

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Example:
    """A procedure and, where the split has answers, its gold grid."""

    procedure: Procedure
    gold: Grid | None = None
    takes_part: tuple[tuple[bool, ...], ...] | None = None
    """Recipes only: for every entity and step, whether the step uses the ingredient."""
    annotators: tuple[Grid, ...] = field(default=(), repr=False)
    """ProPara only, where they are known: the grids of single annotators, of which gold was made.
    Their places are as they were written, and empty where nobody said one."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """One column of the paper's dataset table."""

    procedures: int
    entities: int
    steps: int
    words: int

    @property
    def steps_per_procedure(self) -> float:
        """Average number of sentences of a paragraph."""
        return self.steps / self.procedures if self.procedures else 0.0

    @property
    def words_per_procedure(self) -> float:
        """Average number of words of a paragraph; punctuation marks count, as in the paper."""
        return self.words / self.procedures if self.procedures else 0.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """A data set by splits."""

    name: str
    splits: Mapping[str, tuple[Example, ...]]
    is_tokenized: bool = False
    """Whether the texts came as words with a space between them."""

    def take(self, split: str) -> tuple[Example, ...]:
        """Give the examples of a split that must be there."""
        examples = self.splits.get(split, ())
        if not examples:
            raise KoalaError(f"The corpus {self.name} has no {split} split here; it is needed.")
        return examples

    def statistics(self) -> dict[str, Statistics]:
        """Give the figures of every split, and of all of them as `total`."""
        figures = {
            split: measure(examples, is_tokenized=self.is_tokenized)
            for split, examples in self.splits.items()
        }
        everything = [example for examples in self.splits.values() for example in examples]
        return figures | {"total": measure(everything, is_tokenized=self.is_tokenized)}


def find_fold(procedure: Procedure, total: int) -> int:
    """Give the part, from 0 on, that a procedure belongs to in cross-validation.

    Texts of one prompt stay together, as in ProPara's own splits: who has learned how one text
    tells of fossils knows half of what the next says of them. Where there is no prompt, the id
    decides.
    """
    topic = procedure.question.strip(" .?").lower() or procedure.id
    return int.from_bytes(hashlib.sha256(topic.encode()).digest()[:4]) % total


def build_fold(corpus: Corpus, number: int, total: int) -> Corpus:
    """Part train and dev anew for cross-validation: part `number` of `total` becomes dev.

    Test is left out.
    """
    if not 1 <= number <= total or total < 2:
        raise KoalaError(f"Fold {number} of {total} came; 1 to {total} of 2 or more was expected.")
    examples = [*corpus.take("train"), *corpus.take("dev")]
    parts: dict[bool, list[Example]] = {True: [], False: []}
    for example in examples:
        parts[find_fold(example.procedure, total) == number - 1].append(example)
    return Corpus(corpus.name, {"train": tuple(parts[False]), "dev": tuple(parts[True])})


def measure(examples: Iterable[Example], *, is_tokenized: bool = False) -> Statistics:
    """Count procedures, entities, steps and words."""
    procedures = [example.procedure for example in examples]
    texts = [step.text for procedure in procedures for step in procedure.steps]
    return Statistics(
        procedures=len(procedures),
        entities=sum(len(procedure.entities) for procedure in procedures),
        steps=len(texts),
        words=sum(len(text.split() if is_tokenized else split_words(text)) for text in texts),
    )
