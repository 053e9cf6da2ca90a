from dataclasses import replace

import numpy as np
import pytest

from koala.consensus import draw_lives
from koala.decoding import Output
from koala.document import Procedure, annotate
from koala.items import build_items
from koala.prediction import (
    choose_temperatures,
    draw_grids,
    name_places,
    predict_explanations,
    predict_probabilities,
    split_items,
)
from koala.settings import DecoderSettings
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


def test_grids_of_every_procedure_are_drawn():
    texts = ("The water in the pot boils.\nIt rises.", "Oil flows to the sea.")
    procedures = annotate(
        [Procedure.from_text(text, ["b", "a"], id=str(n)) for n, text in enumerate(texts)]
    )
    items = build_items(procedures, [((), ())] * 2)
    grids = {grid.id: grid for grid in draw_grids(score, items, 3, temperatures=(0.5, 0.5))}
    assert grids.keys() == {f"{n}#{number}" for n in range(2) for number in (1, 2, 3)}
    # How often each is drawn is the affair of `draw_lives`.
    for n, procedure in enumerate(procedures):
        own = [item for item in items if item.procedure is procedure]
        drawn = draw_lives(score(own).cool(0.5, 0.5), (0, 1), ("b", "a"), name_places(own[0]), 3)
        assert [grids[f"{n}#{number}"].rows for number in (1, 2, 3)] == drawn
    assert [grid.steps for grid in grids.values()][-1] in (tuple(t.split("\n")) for t in texts)
    again = {grid.id: grid for grid in draw_grids(score, items, 3, seed=1)}
    assert again != grids


def score_itself(items):
    """Say that everything exists, and is inside itself rather than anywhere else."""
    output = score(items)
    output.tags[:, :, list(Tag).index(Tag.E)] = 5.0
    for row, item in enumerate(items):
        output.places[row, :, name_places(item).index("water")] = 1.0
    return output


@pytest.mark.parametrize(
    "hinted",
    [
        DecoderSettings(decoding="expected"),
        DecoderSettings(decoding="legal", has_hints=True),
    ],
)
def test_with_hints_nothing_is_inside_itself(hinted):
    texts = ["The water in the pot boils.\nThe steam rises."]
    procedures = annotate([Procedure.from_text(text, ["water"]) for text in texts])
    items = build_items(procedures, [((),)])
    plain, own = (
        predict_explanations(score_itself, items, settings=settings)[0]
        for settings in (DecoderSettings(decoding="legal"), hinted)
    )
    assert set(plain.grid.rows[0].locations) == {"water"}
    assert "water" not in own.grid.rows[0].locations
    # The reasons say what the grid was made by.
    places = [found.reasons[0][0].places for found in (own, plain)]
    assert places[0].get("water", 0.0) < 0.1 < places[1]["water"]


def test_locations_are_named_as_the_convention_writes_them():
    text = "Hang the sheets in the drying cabinet."
    for convention, name in {"koala": "drying cabinet", "propara": "dry cabinet"}.items():
        procedure = replace(Procedure.from_text(text, ["sheets"]), convention=convention)
        (item,) = build_items(annotate([procedure]), [((),)])
        assert name in name_places(item)


def test_temperatures_of_a_convention():
    procedure = Procedure.from_text("Water boils.")
    assert choose_temperatures((2.0, 3.0), procedure) == (2.0, 3.0)
    assert choose_temperatures({"koala": (4.0, 5.0)}, procedure) == (4.0, 5.0)
    other = replace(procedure, convention="propara")
    assert choose_temperatures({"koala": (4.0, 5.0)}, other) == (1.0, 1.0)
