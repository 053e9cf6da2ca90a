"""Corpus: examples in three splits, the figures of the paper's table 1, cross-validation folds."""

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
    """A procedure and, if the split has answers, its gold grid."""

    procedure: Procedure
    gold: Grid | None = None
    participation: tuple[tuple[bool, ...], ...] | None = None
    """Recipes only: for every entity and step, whether the step uses the ingredient."""
    annotators: tuple[Grid, ...] = field(default=(), repr=False)
    """ProPara only, if known: the grids of single annotators, from which gold was made. Their
    locations are as the annotators wrote them, or empty if an annotator gave none."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """One column of the paper's dataset table (table 1)."""

    procedures: int
    entities: int
    steps: int
    words: int

    @property
    def steps_per_procedure(self) -> float:
        """Average number of steps of a procedure."""
        return self.steps / self.procedures if self.procedures else 0.0

    @property
    def words_per_procedure(self) -> float:
        """Average number of words of a procedure; punctuation marks count, as in the paper."""
        return self.words / self.procedures if self.procedures else 0.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus and its splits."""

    name: str
    splits: Mapping[str, tuple[Example, ...]]
    is_tokenized: bool = False
    """Whether the words of the texts are separated by spaces already."""

    def take(self, split: str) -> tuple[Example, ...]:
        """Give the examples of a split; an error if it is missing or empty."""
        examples = self.splits.get(split, ())
        if not examples:
            raise KoalaError(f"The corpus {self.name} has no {split} split, which is needed here.")
        return examples

    def statistics(self) -> dict[str, Statistics]:
        """Give the figures of every split, and those of all splits as `total`."""
        figures = {
            split: measure(examples, is_tokenized=self.is_tokenized)
            for split, examples in self.splits.items()
        }
        everything = [example for examples in self.splits.values() for example in examples]
        return figures | {"total": measure(everything, is_tokenized=self.is_tokenized)}


def name_topic(question: str) -> str:
    """Give a question without case and final marks, which differ between texts that answer it."""
    return question.strip(" .?").lower()


def find_fold(procedure: Procedure, total: int) -> int:
    """Give the number, from 0, of the cross-validation fold that a procedure belongs to.

    Texts that answer the same question are in the same fold, as in ProPara's own splits: they
    describe the same process in similar words. Without a question, the id decides.
    """
    topic = name_topic(procedure.question) or procedure.id
    return int.from_bytes(hashlib.sha256(topic.encode()).digest()[:4]) % total


def build_fold(corpus: Corpus, number: int, total: int) -> Corpus:
    """Split train and dev anew for cross-validation: fold `number`, from 1, becomes dev.

    The test split is left out.
    """
    if not 1 <= number <= total or total < 2:
        raise KoalaError(
            f"Fold {number} of {total} is impossible; expected two or more folds, counted from 1."
        )
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
