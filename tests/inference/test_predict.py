from dataclasses import replace

import numpy as np
import pytest

from koala.decoding.mbr.search import sample_grids
from koala.document import Procedure, annotate
from koala.grid.states import Tag
from koala.inference.calibration import Calibration
from koala.inference.explain import predict_explanations
from koala.inference.predict import name_candidates, predict_probabilities, predict_samples
from koala.inputs.examples import build_items, split_items
from koala.network.output import Output

from ..decoding.test_viterbi import load_calibration


def score(items):
    """Give uniform scores: everything is equally probable."""
    n_steps = np.array([len(item.procedure.steps) for item in items])
    n_candidates = np.array([len(item.procedure.candidates) + 1 for item in items])
    n_tags, most = len(Tag), n_steps.max()
    return Output(
        tags=np.zeros((len(items), most, n_tags), np.float32),
        locations=np.zeros((len(items), most + 1, n_candidates.max()), np.float32),
        transitions=np.zeros((n_tags, n_tags), np.float32),
        starts=np.zeros(n_tags, np.float32),
        ends=np.zeros(n_tags, np.float32),
        n_steps=n_steps,
        n_candidates=n_candidates,
    )


def test_probabilities_are_in_the_order_of_the_items():
    texts = ("The water in the pot boils.\nIt rises.", "Stir it.", "Oil flows to the sea.")
    procedures = annotate(
        [Procedure.from_text(text, ["b", "a"], id=str(n)) for n, text in enumerate(texts)]
    )
    items = build_items(procedures, [((), ())] * 3)
    # Batches have another order: short texts first.
    assert split_items(items, 32)[0] != items
    lines = list(predict_probabilities(score, items))
    wanted = [(str(n), name) for n in range(3) for name in "ba"]
    assert [(line["id"], line["entity"]) for line in lines] == wanted
    first = lines[0]
    assert (len(first["tags"]), len(first["locations"])) == (2, 3)
    assert first["locations"][0].keys() == {"?", "pot", "water"}


def test_grids_of_every_procedure_are_sampled():
    texts = ("The water in the pot boils.\nIt rises.", "Oil flows to the sea.")
    procedures = annotate(
        [Procedure.from_text(text, ["b", "a"], id=str(n)) for n, text in enumerate(texts)]
    )
    items = build_items(procedures, [((), ())] * 2)
    calibration = Calibration.with_temperatures((0.5, 0.5))
    grids = {grid.id: grid for grid in predict_samples(score, items, 3, calibration=calibration)}
    assert grids.keys() == {f"{n}#{number}" for n in range(2) for number in (1, 2, 3)}
    # The samples are those of `sample_grids`.
    for n, procedure in enumerate(procedures):
        own = [item for item in items if item.procedure is procedure]
        sampled = sample_grids(
            score(own).with_temperatures(0.5, 0.5),
            ("b", "a"),
            name_candidates(procedure),
            3,
            consistency={},
        )
        assert [grids[f"{n}#{number}"].rows for number in (1, 2, 3)] == sampled
    assert [grid.steps for grid in grids.values()][-1] in (tuple(t.split("\n")) for t in texts)
    again = {grid.id: grid for grid in predict_samples(score, items, 3, seed=1)}
    assert again != grids


def score_inside_itself(items):
    """Score as if every entity existed and were most probably inside itself."""
    output = score(items)
    output.tags[:, :, list(Tag).index(Tag.E)] = 5.0
    for row, item in enumerate(items):
        output.locations[row, :, name_candidates(item.procedure).index("water")] = 1.0
    return output


@pytest.mark.parametrize("decoding", ["viterbi", "mbr"])
def test_with_a_reranker_no_entity_is_inside_itself(decoding):
    texts = ["The water in the pot boils.\nThe steam rises."]
    procedures = annotate([Procedure.from_text(text, ["water"]) for text in texts])
    items = build_items(procedures, [((),)])
    reranker = load_calibration().rerankers["propara"]
    (plain,) = predict_explanations(score_inside_itself, items, calibration=Calibration())
    (own,) = predict_explanations(
        score_inside_itself,
        items,
        calibration=Calibration(rerankers={"koala": reranker}),
        decoding=decoding,
    )
    assert set(plain.grid.rows[0].locations) == {"water"}
    assert "water" not in own.grid.rows[0].locations
    # The reasons use the reranked probabilities, too.
    locations = [found.reasons[0][0].locations for found in (own, plain)]
    assert locations[0].get("water", 0.0) < 0.1 < locations[1]["water"]


def test_location_names_follow_the_annotation_convention():
    text = "Hang the sheets in the drying cabinet."
    for convention, name in {"koala": "drying cabinet", "propara": "dry cabinet"}.items():
        procedure = replace(Procedure.from_text(text, ["sheets"]), convention=convention)
        (item,) = build_items(annotate([procedure]), [((),)])
        assert name in name_candidates(item.procedure)


def test_temperatures_depend_on_the_convention():
    procedure = Procedure.from_text("Water boils.", ["water"])
    items = build_items(annotate([procedure]), [((),)])
    output = replace(score(items), tags=np.ones((1, 1, len(Tag)), np.float32))
    own = Calibration({"koala": (4.0, 5.0)})
    assert own.scale(output, procedure).tags.max() == 0.25
    assert own.scale(output, replace(procedure, convention="propara")) is output
    same = Calibration.with_temperatures((2.0, 3.0))
    assert same.scale(output, replace(procedure, convention="propara")).tags.max() == 0.5
    assert Calibration.from_dict(load_calibration().to_dict()) == load_calibration()
