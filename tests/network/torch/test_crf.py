"""The CRF, compared with an enumeration of every tag sequence."""

from itertools import product

import pytest

torch = pytest.importorskip("torch")

from koala.decoding.viterbi import decode_tags  # noqa: E402
from koala.grid.states import LAST_TAGS, Tag, is_legal  # noqa: E402
from koala.network.output import Output  # noqa: E402
from koala.network.torch.crf import CRF  # noqa: E402

TAGS = list(Tag)


def build_crf(*, legal: bool, seed: int = 0) -> CRF:
    torch.manual_seed(seed)
    crf = CRF(is_legal=legal)
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    return crf


def score_by_hand(crf, emissions, path):
    transitions, starts, ends = crf.potentials()
    total = starts[path[0]] + ends[path[-1]] + emissions[0, path[0]]
    for step in range(1, len(path)):
        total = total + transitions[path[step - 1], path[step]] + emissions[step, path[step]]
    return total


@pytest.mark.parametrize("legal", [False, True])
@pytest.mark.parametrize("n_steps", [1, 2, 4])
def test_log_likelihood_equals_enumeration(legal, n_steps):
    crf = build_crf(legal=legal)
    emissions = torch.randn(n_steps, len(TAGS))
    paths = list(product(range(len(TAGS)), repeat=n_steps))
    scores = torch.stack([score_by_hand(crf, emissions, path) for path in paths])
    log_probabilities = scores.log_softmax(0)
    mask = torch.ones(1, n_steps, dtype=torch.bool)
    for index in range(0, len(paths), max(1, len(paths) // 40)):
        ours = crf.log_likelihood(emissions[None], torch.tensor([paths[index]]), mask)
        expected = log_probabilities[index]
        if expected > -1e3:
            assert ours.item() == pytest.approx(expected.item(), abs=1e-4)


def test_padding_does_not_matter():
    crf = build_crf(legal=False)
    short, long = torch.randn(1, 3, len(TAGS)), torch.randn(1, 5, len(TAGS))
    tags = torch.tensor([[2, 2, 4]])
    alone = crf.log_likelihood(short, tags, torch.ones(1, 3, dtype=torch.bool))
    emissions = torch.cat([torch.nn.functional.pad(short, (0, 0, 0, 2), value=7.0), long])
    padded = torch.cat([torch.nn.functional.pad(tags, (0, 2)), torch.tensor([[0, 1, 2, 3, 4]])])
    mask = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    assert crf.log_likelihood(emissions, padded, mask)[0].item() == pytest.approx(alone.item())


def test_an_illegal_sequence_has_no_probability():
    crf = build_crf(legal=True)
    tags = torch.tensor([[TAGS.index(Tag.E), TAGS.index(Tag.C)]])
    mask = torch.ones(1, 2, dtype=torch.bool)
    assert crf.log_likelihood(torch.randn(1, 2, len(TAGS)), tags, mask).item() < -1e3


@pytest.mark.parametrize("seed", range(5))
def test_viterbi_finds_the_best_legal_sequence(seed):
    crf = build_crf(legal=False, seed=seed)
    emissions = torch.randn(4, len(TAGS))
    legal = [
        path
        for path in product(range(len(TAGS)), repeat=4)
        if is_legal([TAGS[i] for i in path]) and TAGS[path[-1]] in LAST_TAGS
    ]
    best = max(legal, key=lambda path: score_by_hand(crf, emissions, path).item())
    potentials = [value.detach().numpy() for value in crf.potentials()]
    output = Output(emissions[None].numpy(), None, *potentials, torch.tensor([4]).numpy(), None)
    assert decode_tags(output, 0) == tuple(TAGS[i] for i in best)


def test_a_crf_is_initialised_from_counts():
    crf = CRF(is_legal=True)
    tags = [[Tag.O_C, Tag.C, Tag.E], [Tag.E, Tag.E, Tag.M]]
    crf.init_from_counts(tags)
    order = list(Tag)
    moves = crf.transitions.detach().exp()
    assert moves.sum(1) == pytest.approx(1.0)
    # E is followed by E and M once each; every count starts at 1.
    assert moves[order.index(Tag.E), order.index(Tag.M)].item() == pytest.approx(2 / 8)
    assert moves[order.index(Tag.E), order.index(Tag.D)].item() == pytest.approx(1 / 8)
    assert crf.starts.detach().exp()[order.index(Tag.O_C)].item() == pytest.approx(2 / 8)
