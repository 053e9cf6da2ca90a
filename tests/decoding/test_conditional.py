"""The chain of tags and locations against enumeration and against unconditional samples."""

import itertools
from collections import Counter

import numpy as np
import pytest

from koala.decoding.conditional import Fix, TrajectoryChain
from koala.decoding.recipes import NOWHERE
from koala.decoding.sampling import sample_trajectories
from koala.decoding.viterbi import TAGS, find_potentials
from koala.errors import KoalaError
from koala.grid.states import Tag
from koala.network.output import log_softmax

from .test_viterbi import build_output

N_STEPS, N_CANDIDATES = 3, 3


def score_arrival(locations, new, current):
    """Give the log probability of a location among those other than the current one."""
    others = [score for number, score in enumerate(locations) if number != current]
    return locations[new] - np.logaddexp.reduce(others)


def enumerate_paths(output, index=0):
    """Score every sequence of tags with every sequence of locations, one by one."""
    starts, emissions, transitions, ends = find_potentials(output, index, is_legal=True)
    locations = log_softmax(output.location_scores(index))
    found = {}
    for tags in itertools.product(range(len(TAGS)), repeat=N_STEPS):
        score = starts[tags[0]] + ends[tags[-1]]
        score += sum(emissions[step, tag] for step, tag in enumerate(tags))
        score += sum(transitions[a, b] for a, b in itertools.pairwise(tags))
        if score < -1e8:
            continue
        names = [TAGS[tag] for tag in tags]
        begins = [NOWHERE] if names[0] in (Tag.O_C, Tag.C) else range(N_CANDIDATES)
        for begin in begins:
            rows = [((begin,), score + (locations[0, begin] if begin != NOWHERE else 0.0))]
            for step, tag in enumerate(names):
                if tag in (Tag.C, Tag.M):
                    rows = [
                        ((*row, new), total + score_arrival(locations[step + 1], new, current))
                        for row, total in rows
                        for current in [row[-1] if tag == Tag.M else NOWHERE]
                        for new in range(N_CANDIDATES)
                        if new != current
                    ]
                else:
                    stays = tag == Tag.E
                    rows = [((*row, row[-1] if stays else NOWHERE), total) for row, total in rows]
            for row, total in rows:
                found[tuple(names), row] = total
    return found


@pytest.fixture(params=range(4))
def output(request):
    return build_output(request.param, N_STEPS, N_CANDIDATES)


@pytest.mark.parametrize(
    "fixes",
    [
        {},
        {2: Fix(location=1)},
        {0: Fix(location=NOWHERE), 3: Fix(location=2)},
        {1: Fix(tags=frozenset({Tag.M}))},
        {2: Fix(location=NOWHERE)},
        {2: Fix(tags=frozenset({Tag.M}), must_move=True)},
        {1: Fix(tags=frozenset({Tag.M}), must_move=True), 3: Fix(location=1)},
    ],
)
def test_viterbi_and_marginals_are_those_of_all_trajectories(output, fixes):
    paths = {
        (tags, row): score
        for (tags, row), score in enumerate_paths(output).items()
        if all(
            (fix.location is None or row[position] == fix.location)
            and (position == 0 or tags[position - 1] in fix.tags)
            and not (fix.must_move and row[position] == row[position - 1])
            for position, fix in fixes.items()
        )
    }
    chain = TrajectoryChain(output, 0, fixes)
    assert chain.decode() == max(paths, key=paths.get)[1]
    weights = {key: np.exp(score) for key, score in paths.items()}
    total = sum(weights.values())
    marginals = chain.find_marginals()
    for step, number in itertools.product(range(N_STEPS), range(len(TAGS))):
        own = sum(w for (tags, _), w in weights.items() if tags[step] == TAGS[number])
        assert marginals.tags[step, number] == pytest.approx(own / total, abs=1e-9)
    for position in range(N_STEPS + 1):
        there = {key: w for key, w in weights.items() if key[1][position] != NOWHERE}
        for candidate in range(N_CANDIDATES):
            own = sum(w for (_, row), w in there.items() if row[position] == candidate)
            wanted = own / sum(there.values()) if there else 0.0
            assert marginals.locations[position, candidate] == pytest.approx(wanted, abs=1e-9)


def test_samples_without_fixes_are_those_of_the_network(output):
    n = 20_000
    ours = TrajectoryChain(output, 0, {}).sample(n, np.random.default_rng(0))
    theirs = sample_trajectories(output, 0, n, np.random.default_rng(1))
    counts = [Counter(map(tuple, each.tolist())) for each in (ours, theirs)]
    for row in counts[0] | counts[1]:
        assert counts[0][row] / n == pytest.approx(counts[1][row] / n, abs=0.02)


def test_samples_keep_what_is_fixed(output):
    rows = TrajectoryChain(output, 0, {2: Fix(location=1)}).sample(500, np.random.default_rng(0))
    assert (rows[:, 2] == 1).all()
    assert len({tuple(row) for row in rows.tolist()}) > 5


def test_contradictory_fixes_are_refused(output):
    stays = Fix(location=2, tags=frozenset({Tag.E}))
    with pytest.raises(KoalaError, match="contradict each other"):
        TrajectoryChain(output, 0, {1: Fix(location=1), 2: stays})
