from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from koala.errors import KoalaError  # noqa: E402
from koala.grid.states import ABSENT  # noqa: E402
from koala.inference.attention import find_attention  # noqa: E402
from koala.inference.calibration import Calibration  # noqa: E402
from koala.inference.predict import name_candidates  # noqa: E402
from koala.inference.scoring import NetworkScorer, score_all  # noqa: E402
from koala.network.torch.koala import build_model  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.loop import build_batcher  # noqa: E402

from .. import tiny  # noqa: E402


@pytest.fixture(scope="module", params=["sequences", "scorer"])
def scorer(settings, request):
    torch.manual_seed(0)
    decoder = replace(settings.decoder, locations=request.param)
    model = build_model(replace(settings, decoder=decoder))
    return NetworkScorer(model.predict, build_batcher(settings))


@pytest.fixture(scope="module")
def items(settings):
    return build_training_data(tiny.build_corpus(), settings).dev


def test_weights_add_up_to_one_and_are_those_of_the_location_asked_for(scorer, items):
    found = find_attention(scorer, items, calibration=Calibration())
    outputs = [(s, n) for s in score_all(scorer, items) for n in range(len(s.items))]
    assert len(found) == len(items)
    assert any(attention.triples for attention in found)
    for attention, item, (scored, number) in zip(found, items, outputs, strict=True):
        assert attention.row.name == item.procedure.entities[item.entity].name
        assert len(attention.states) == len(item.procedure.steps)
        assert len(attention.asked) == len(attention.states) + 1
        names = name_candidates(item.procedure)
        for position, (name, weights) in enumerate(
            zip(attention.asked, attention.locations, strict=True)
        ):
            assert name == attention.row.locations[position]
            if name == ABSENT:
                assert weights == ()
                continue
            row = scored.output.location_attention[number, names.index(name), position]
            assert weights == pytest.approx(row[: len(item.triples)])
        for weights in (*attention.states, *attention.locations):
            if weights and item.triples:
                assert sum(weights) == pytest.approx(1.0, abs=1e-5)


def test_one_location_can_be_asked_for(scorer, items):
    (attention,) = find_attention(scorer, items[:1], calibration=Calibration(), location="soil")
    assert set(attention.asked) == {"soil"}
    assert all(attention.locations)
    with pytest.raises(KoalaError, match="'moon' is no location candidate"):
        find_attention(scorer, items[:1], calibration=Calibration(), location="moon")


def test_networks_without_the_attention_of_locations_are_refused(scorer, items):
    def exported(items):
        return replace(scorer(items), location_attention=None)

    with pytest.raises(KoalaError, match="Give the folder of the training run"):
        find_attention(exported, items, calibration=Calibration())


def test_windows_keep_the_attention_of_locations(scorer, items):
    whole = scorer(items)
    windows = replace(scorer, most_subwords=8)(items)
    assert windows.location_attention.shape == whole.location_attention.shape
    for index, item in enumerate(items):
        n = len(item.procedure.steps) + 1
        k = len(item.triples)
        if k:
            # `?` is a candidate of every window.
            sums = windows.location_attention[index, 0, :n, :k].sum(-1)
            assert np.allclose(sums, 1.0, atol=1e-5)
