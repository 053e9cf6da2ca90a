from dataclasses import replace

import numpy as np
import pytest

from koala.document import Entity, Procedure, annotate
from koala.encoders import open_encoder
from koala.errors import KoalaError
from koala.training.discovery import (
    DiscoverySettings,
    build_lessons,
    cross_validate,
    find_threshold,
    fit,
    fit_logistic,
    score_lessons,
    train_ranker,
)

TEXTS = {
    "How does a plant grow?": ("Roots absorb water.\nThe leaf makes sugar.", ["water", "sugar"]),
    "How does a plant grow": ("The root takes water.\nThe leaf forms sugar.", ["water", "sugar"]),
    "What is rust?": (
        "Iron meets oxygen in the rain.\nRust forms on the iron.",
        ["oxygen", "rust"],
    ),
    "How is tea made?": ("Water boils in a pot.\nTea is put in the water.", ["water", "tea"]),
    "": ("Lava leaves the vent.\nThe lava cools on the slope.", ["lava"]),
}
TINY = DiscoverySettings(least=1, folds=3)


@pytest.fixture(scope="module")
def procedures():
    plain = [
        replace(
            Procedure.from_text(text, id=str(number)),
            entities=tuple(map(Entity, names)),
            question=question,
        )
        for number, (question, (text, names)) in enumerate(TEXTS.items())
    ]
    return annotate(plain)


@pytest.fixture(scope="module")
def lessons(procedures):
    return build_lessons(procedures, open_encoder(threads=1))


def test_a_weight_with_a_known_solution():
    """Seven of ten equal candidates are positive: without a penalty the weight is log(7/3)."""
    table, labels = np.ones((10, 1)), np.arange(10) < 7
    (weight,) = fit_logistic(table, labels, np.ones(10), l2=1e-9)
    assert weight == pytest.approx(np.log(7 / 3), abs=1e-6)
    # With importance 0.5 the three negatives count 1.5.
    (weight,) = fit_logistic(table, labels, np.where(labels, 1.0, 0.5), l2=1e-9)
    assert weight == pytest.approx(np.log(7 / 1.5), abs=1e-6)


def test_the_fitted_weights_minimise_the_loss():
    generator = np.random.default_rng(0)
    table, labels = generator.normal(size=(60, 8)), generator.random(60) < 0.4
    importance = generator.random(60)
    weights = fit_logistic(table, labels, importance, l2=0.5)

    def loss(w):
        z = table @ w
        return importance @ (np.logaddexp(0, z) - labels * z) + 0.25 * w @ w

    for direction in np.eye(8):
        assert loss(weights + 1e-3 * direction) > loss(weights) < loss(weights - 1e-3 * direction)


def test_labels_mark_the_entities_that_annotators_chose(lessons):
    assert lessons[2].labels.any()
    labels = zip(lessons[4].names, lessons[4].labels.tolist(), strict=True)
    assert dict(labels) == {"lava": True, "vent": False, "slope": False}


def test_a_ranker_reproduces_its_training_labels(lessons):
    ranker = fit(lessons, (), replace(TINY, l2=0.01))
    for lesson in lessons:
        scores = [ranker.score(each) for each in lesson.described[1]]
        assert [score >= 0.5 for score in scores] == lesson.labels.tolist()


def test_a_rare_feature_has_no_weight(lessons):
    assert "noun lava" in fit(lessons, (), TINY).weights
    assert "noun lava" not in fit(lessons, (), replace(TINY, least=2)).weights


def test_training_without_procedures_is_refused():
    with pytest.raises(KoalaError, match="nothing to learn from"):
        fit([], (), TINY)


def test_folds_are_by_question(lessons):
    """The first two procedures answer one question: neither is scored with the other's labels."""
    before = cross_validate(lessons, (), TINY)
    first = replace(lessons[0], procedure=replace(lessons[0].procedure, entities=()))
    after = cross_validate([first, *lessons[1:]], (), TINY)
    is_same = [one == other for one, other in zip(before, after, strict=True)]
    assert is_same[:2] == [True, True]
    assert not all(is_same)


def test_the_threshold_is_the_best_that_was_tried(lessons):
    scores = [[0.9 if label else 0.3 for label in lesson.labels] for lesson in lessons]
    threshold = find_threshold(lessons, scores)
    assert 0.3 < threshold <= 0.9
    assert score_lessons(lessons, scores, threshold).score.precision == 1.0


def test_the_same_data_gives_the_same_file(procedures, tmp_path):
    encoder = open_encoder(threads=1)
    for name in ("one", "two"):
        dev = {"tiny": procedures[:1]}
        learned = train_ranker(procedures, dev, procedures[3:], encoder=encoder, settings=TINY)
        learned.ranker.write(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert learned.ranker.encoder == encoder.name
    assert learned.dev["tiny"].counts.shape == (1, 3)
