import numpy as np

from koala.decoding import Output
from koala.document import Procedure, annotate
from koala.items import build_items
from koala.prediction import draw_grids, predict_probabilities, split_items
from koala.states import Tag


def score(items):
    """Say nothing of any entity: everything is equally probable."""
    n_steps = np.array([len(item.procedure.steps) for item in items])
    n_candidates = np.array([len(item.procedure.candidates) + 1 for item in items])
    n_tags, most = len(Tag), n_steps.max()
    return Output(
        tags=np.zeros((len(items), most, n_tags), np.float32),
        places=np.zeros((len(items), most + 1, n_candidates.max()), np.float32),
        transitions=np.zeros((n_tags, n_tags), np.float32),
        starts=np.zeros(n_tags, np.float32),
        ends=np.zeros(n_tags, np.float32),
        n_steps=n_steps,
        n_candidates=n_candidates,
    )


def test_probabilities_come_in_the_order_of_the_items():
    texts = ("The water in the pot boils.\nIt rises.", "Stir it.", "Oil flows to the sea.")
    procedures = annotate(
        [Procedure.from_text(text, ["b", "a"], id=str(n)) for n, text in enumerate(texts)]
    )
    items = build_items(procedures, [((), ())] * 3)
    # Batches are of another order: short texts first.
    assert split_items(items, 32)[0] != items
    lines = list(predict_probabilities(score, items))
    wanted = [(str(n), name) for n in range(3) for name in "ba"]
    assert [(line["id"], line["entity"]) for line in lines] == wanted
    first = lines[0]
    assert (len(first["tags"]), len(first["places"])) == (2, 3)
    assert first["places"][0].keys() == {"?", "pot", "water"}


def test_grids_are_drawn_as_often_as_they_are_probable():
    """Every legal life is equally probable here, and so is every place."""
    text = "The water in the pot boils.\nIt rises."
    procedures = annotate([Procedure.from_text(text, ["water"], id="tea")])
    items = build_items(procedures, [((),)])
    (line,) = predict_probabilities(score, items)
    n = 4000
    grids = list(draw_grids(score, items, n))
    assert [grid.id for grid in grids[:2]] == ["tea#1", "tea#2"]
    assert len(grids) == n
    for step, tags in enumerate(line["tags"]):
        for tag, probability in tags.items():
            share = sum(grid.rows[0].tags[step] == tag for grid in grids) / n
            # A move may be drawn to the place where the entity is: then nothing happens.
            if tag not in ("E", "M"):
                assert abs(share - probability) < 0.04, (step, tag)
    begun = [grid.rows[0].locations[0] for grid in grids if grid.rows[0].locations[0] != "-"]
    for place in ("?", "pot", "water"):
        assert abs(begun.count(place) / len(begun) - 1 / 3) < 0.04
    again = list(draw_grids(score, items, n))
    assert again == grids
    assert list(draw_grids(score, items, n, seed=1)) != grids
