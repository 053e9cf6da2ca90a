"""Several processes give the same result as one: every masked subword has the same weight."""

import json

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402

from koala.errors import KoalaError  # noqa: E402
from koala.pretraining import language_model  # noqa: E402
from koala.pretraining.batches import (  # noqa: E402
    UNMASKED,
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
def test_the_shares_add_up_to_the_batches_of_one_process(dataset, n):
    sampler = LengthSampler(dataset, batch=4)
    shares = [list(SharedBatches(sampler, index=i, n_processes=n)) for i in range(n)]
    order = list(sampler)
    whole = [order[start : start + 4] for start in (0, 4, 8)]
    # All processes have the same number of batches, so none waits for another.
    assert {len(share) for share in shares} == {3} == {len(SharedBatches(sampler))}
    for number, batch in enumerate(whole):
        found = [example for share in shares for example in share[number] if example != UNMASKED]
        assert sorted(found) == sorted(batch)
    # The last batch has one example; the other processes get an unmasked one.
    assert [share[2] for share in shares].count([UNMASKED]) == n - 1


def test_the_unmasked_example_has_no_labels(dataset):
    masked = dataset[UNMASKED]
    assert set(masked.labels) == {IGNORED}
    assert masked.subwords == dataset.examples[0].subwords


def test_the_batch_must_be_divisible_by_the_number_of_processes(monkeypatch, tmp_path):
    monkeypatch.setattr(Processes, "n", 3)
    with pytest.raises(KoalaError, match=r"batch is 16, expected a multiple of the number of.*3"):
        language_model._build_arguments(PretrainingSettings(), HeadSettings(), tmp_path)


def read_losses(folder):
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines if json.loads(line)["loss"] is not None]


@pytest.mark.parametrize("file", ["model.safetensors", "head.safetensors"])
def test_two_processes_give_the_weights_of_one(alone_and_together, file):
    one, two = (load_file(folder / "stage" / file) for folder in alone_and_together[:2])
    torch.testing.assert_close(two, one, **CLOSE)


def test_two_processes_give_the_log_of_one(alone_and_together):
    one, two = (read_losses(folder / "stage") for folder in alone_and_together[:2])
    assert len(one) == 3
    assert two == pytest.approx(one, rel=1e-4)


def test_a_mean_of_means_would_give_other_weights(alone_and_together):
    alone, together, _ = alone_and_together
    one, wrong = read_losses(alone / "stage"), read_losses(together / "wrong-stage")
    assert wrong != pytest.approx(one, rel=1e-2)
    weights = [f / "model.safetensors" for f in (together / "wrong-stage", alone / "stage")]
    with pytest.raises(AssertionError):
        torch.testing.assert_close(*map(load_file, weights), **CLOSE)
