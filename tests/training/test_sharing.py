"""Several processes share each batch and compute the losses and gradients of one process."""

import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402

from koala.corpora.annotators import NOT_ANNOTATED  # noqa: E402
from koala.grid import Row  # noqa: E402
from koala.grid.states import ABSENT, UNKNOWN  # noqa: E402
from koala.inputs.examples import group_items  # noqa: E402
from koala.network.torch.koala import build_model  # noqa: E402
from koala.settings import LossSettings  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.loop import build_batcher, take_share  # noqa: E402
from koala.training.loss import (  # noqa: E402
    build_targets,
    compute_losses,
    count_targets,
    weigh_losses,
)

from .. import tiny  # noqa: E402

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
"""Sums in a different order round differently, and Adam amplifies it. Training changes weights by
about 1e-3."""


@pytest.fixture(scope="module")
def items(settings):
    """Five entities of three procedures, so that the shares have different sizes."""
    found = build_training_data(tiny.build_corpus(), settings).train
    return [*found[:1], *found[2:]]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_every_procedure_is_in_one_share(items, n):
    shares = [take_share(items, index, n) for index in range(n)]
    assert sorted(id(item) for share in shares for item in share) == sorted(map(id, items))
    procedures = [{id(item.procedure) for item in share} for share in shares]
    assert sum(map(len, procedures)) == len(group_items(items))
    assert sum(not share for share in shares) == max(0, n - 3)


def build_annotators(item):
    """Give two annotators to some entities; they disagree with gold, one names no location."""
    locations = item.gold.locations
    rows = [
        [UNKNOWN if location != ABSENT else location for location in locations],
        [NOT_ANNOTATED] * len(locations),
    ]
    return tuple(Row.from_locations(item.gold.name, row) for row in rows if item.entity)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(
    ("loss", "annotators"),
    [
        (LossSettings(), 0.0),
        (LossSettings(attention_form="paper", has_initial_location=False), 0.0),
        (LossSettings(), 0.4),
    ],
    ids=["published", "paper", "annotators"],
)
def test_the_losses_of_shares_add_up_to_those_of_the_batch(settings, items, loss, annotators, n):
    items = [replace(item, annotators=build_annotators(item)) for item in items]
    torch.manual_seed(0)
    model = build_model(replace(settings, loss=loss)).eval()
    batcher = build_batcher(settings)

    def compute(some):
        targets = build_targets(some, annotators)
        return compute_losses(model(batcher.build(some)), targets, model.crf, loss)

    whole = compute(items)
    parts = []
    for index in range(n):
        share = take_share(items, index, n)
        counts = [count_targets(each, loss, annotators) for each in (share, items)]
        parts.append((compute(share), weigh_losses(compute(share), *counts, loss)))
    for name in ("state", "location", "attention", "total"):
        expected = getattr(whole, name).item()
        weighed = sum(getattr(each, name).item() for _, each in parts)
        assert weighed == pytest.approx(expected, rel=1e-5)
        # The shares differ in size, so their unweighted mean is a different number.
        plain = sum(getattr(each, name).item() for each, _ in parts) / n
        assert plain != pytest.approx(expected, rel=1e-4)
    parameter = model.states.output.weight
    (expected,) = torch.autograd.grad(whole.total, parameter)
    found = [torch.autograd.grad(each.total, parameter)[0] for _, each in parts]
    torch.testing.assert_close(sum(found), expected, rtol=1e-4, atol=1e-7)


def read_epochs(folder):
    """Read losses and scores of each epoch, without times and missing values."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [
        {k: v for k, v in line.items() if "seconds" not in k and v is not None} for line in lines
    ]


@pytest.mark.parametrize("file", ["best.safetensors", "last.safetensors"])
def test_two_processes_give_the_weights_of_one(alone_and_together, file):
    one, two = (load_file(folder / "train" / file) for folder in alone_and_together[:2])
    torch.testing.assert_close(two, one, **CLOSE)


def test_two_processes_give_the_log_of_one(alone_and_together):
    alone, together, _ = alone_and_together
    one, two = read_epochs(alone / "train"), read_epochs(together / "train")
    assert len(one) == len(two) == 3
    for ours, theirs in zip(two, one, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)


def test_unweighed_losses_of_shares_would_be_detected(alone_and_together):
    alone, together, _ = alone_and_together
    one = load_file(alone / "train" / "last.safetensors")
    wrong = load_file(together / "wrong" / "last.safetensors")
    with pytest.raises(AssertionError):
        torch.testing.assert_close(wrong, one, **CLOSE)
    first, wrong_first = (read_epochs(f)[0] for f in (alone / "train", together / "wrong"))
    assert wrong_first["loss"] != pytest.approx(first["loss"], rel=1e-2)


def test_two_processes_resume_exactly(alone_and_together):
    _, together, _ = alone_and_together
    whole, parts = (load_file(together / name / "last.safetensors") for name in ("train", "parts"))
    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    assert read_epochs(together / "parts") == read_epochs(together / "train")


def test_only_one_of_two_processes_prints(alone_and_together):
    _, together, printed = alone_and_together
    # Three calls with --json, one with a table, two language-model stages.
    assert printed.count('"signature"') == 3
    assert printed.count("Dev, epoch") == 1
    assert printed.count(str(together / "stage")) == 1
    reports = [json.loads((together / n / "report.json").read_text()) for n in ("train", "parts")]
    assert reports[0]["document"] == reports[1]["document"]
