"""Several processes guess what one does, each word piece counted the same."""

import json

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402

from koala.errors import KoalaError  # noqa: E402
from koala.pretraining import language_model  # noqa: E402
from koala.pretraining.batches import (  # noqa: E402
    NOTHING,
    LengthSampler,
    MaskedDataset,
    SharedBatches,
)
from koala.pretraining.masking import (  # noqa: E402
    IGNORED,
    Example,
    Replacement,
    TripleMasking,
)
from koala.settings.pretraining import HeadSettings, PretrainingSettings  # noqa: E402
from koala.training.distributed import Processes  # noqa: E402

CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture
def dataset():
    examples = [Example((1, *range(5, 6 + n), 2), ((1,),)) for n in range(9)]
    return MaskedDataset(examples, TripleMasking(Replacement(4, (5, 6))), seed=0)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_shares_make_up_the_batches_of_one_process(dataset, n):
    sampler = LengthSampler(dataset, batch=4)
    shares = [list(SharedBatches(sampler, index=i, n_processes=n)) for i in range(n)]
    order = list(sampler)
    whole = [order[start : start + 4] for start in (0, 4, 8)]
    # Nobody waits for another: all have as many batches.
    assert {len(share) for share in shares} == {3} == {len(SharedBatches(sampler))}
    for number, batch in enumerate(whole):
        found = [example for share in shares for example in share[number] if example != NOTHING]
        assert sorted(found) == sorted(batch)
    # The last batch has one example; the others read nothing in its place.
    assert [share[2] for share in shares].count([NOTHING]) == n - 1


def test_nothing_is_to_be_guessed_of_nothing(dataset):
    masked = dataset[NOTHING]
    assert set(masked.labels) == {IGNORED}
    assert masked.subwords == dataset.examples[0].subwords


def test_a_batch_that_cannot_be_shared_out_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(Processes, "n", 3)
    with pytest.raises(KoalaError, match="batch is 16; a multiple of the 3 processes"):
        language_model._build_arguments(PretrainingSettings(), HeadSettings(), tmp_path)


def read_losses(folder):
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines if json.loads(line)["loss"] is not None]


@pytest.mark.parametrize("file", ["model.safetensors", "head.safetensors"])
def test_two_processes_learn_what_one_does(alone_and_together, file):
    one, two = (load_file(folder / "stage" / file) for folder in alone_and_together[:2])
    torch.testing.assert_close(two, one, **CLOSE)


def test_two_processes_log_what_one_does(alone_and_together):
    one, two = (read_losses(folder / "stage") for folder in alone_and_together[:2])
    assert len(one) == 3
    assert two == pytest.approx(one, rel=1e-4)


def test_a_mean_of_means_would_be_seen(alone_and_together):
    alone, together, _ = alone_and_together
    one, wrong = read_losses(alone / "stage"), read_losses(together / "wrong-stage")
    assert wrong != pytest.approx(one, rel=1e-2)
    weights = [f / "model.safetensors" for f in (together / "wrong-stage", alone / "stage")]
    with pytest.raises(AssertionError):
        torch.testing.assert_close(*map(load_file, weights), **CLOSE)
