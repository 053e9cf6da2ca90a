import numpy as np

from koala.decoding.location_groups import group_names, merge_locations
from koala.network.output import Output, log_softmax


def build_output(probabilities: list[list[float]]) -> Output:
    """Give the output of one entity with the probabilities (positions, candidates)."""
    scores = np.log(np.array([probabilities], dtype=np.float32))
    n_steps = len(probabilities) - 1
    return Output(
        tags=np.zeros((1, n_steps, 6), dtype=np.float32),
        locations=scores,
        transitions=np.zeros((6, 6), dtype=np.float32),
        starts=np.zeros(6, dtype=np.float32),
        ends=np.zeros(6, dtype=np.float32),
        n_steps=np.array([n_steps]),
        n_candidates=np.array([len(probabilities[0])]),
    )


def test_a_short_name_with_two_meanings_stays_by_itself():
    names = ("?", "spin column", "waste column", "column", "tube")
    assert group_names(names).tolist() == [0, 1, 2, 3, 4]


def test_nested_names_are_one_location():
    names = ("?", "pot", "clay pot", "small clay pots", "clay")
    assert group_names(names).tolist() == [0, 3, 3, 3, 4]


def test_the_names_of_a_location_win_together():
    # Alone, neither name of the column is as probable as the tube.
    names = ("?", "spin column", "column", "tube")
    output = build_output([[0.1, 0.3, 0.25, 0.35], [0.1, 0.2, 0.4, 0.3]])
    merged = np.exp(log_softmax(merge_locations(output, names).location_scores(0)))
    # "column" has 0.65 in the whole grid, "spin column" 0.5.
    assert np.allclose(merged, [[0.1, 0, 0.55, 0.35], [0.1, 0, 0.6, 0.3]], atol=1e-5)


def test_a_name_that_a_person_chose_stays():
    names = ("?", "spin column", "column", "tube")
    output = build_output([[0.1, 0.3, 0.25, 0.35], [0.1, 0.2, 0.4, 0.3]])
    merged = np.exp(log_softmax(merge_locations(output, names, {1}).location_scores(0)))
    assert np.allclose(merged[:, 1], [0.55, 0.6], atol=1e-5)
