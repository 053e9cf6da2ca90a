import pytest

from koala.document import Procedure
from koala.inputs.examples import build_items, group_items, split_entities, split_items


@pytest.fixture(scope="module")
def items():
    sizes = (1, 4, 2, 2, 1, 3)
    procedures = [
        Procedure.from_text("Stir it.\n" * n, [f"entity {i}" for i in range(n)]) for n in sizes
    ]
    return build_items(procedures, [[()] * n for n in sizes])


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_every_item_is_in_one_batch_and_procedures_stay_whole(items, seed):
    batches = split_items(items, 3, seed=seed)
    assert sorted(id(item) for batch in batches for item in batch) == sorted(map(id, items))
    assert all(len(batch) <= 3 or len(group_items(batch)) == 1 for batch in batches)
    batches_of_procedure = {}
    for number, batch in enumerate(batches):
        for item in batch:
            batches_of_procedure.setdefault(id(item.procedure), set()).add(number)
    assert all(len(found) == 1 for found in batches_of_procedure.values())


def test_the_seed_determines_the_order(items):
    orders = [
        [[id(item) for item in batch] for batch in split_items(items, 3, seed=seed)]
        for seed in (0, 0, 1)
    ]
    assert orders[0] == orders[1] != orders[2]


def test_entities_can_be_shuffled_singly(items):
    batches = split_entities(items, 4, seed=0)
    assert sorted(id(item) for batch in batches for item in batch) == sorted(map(id, items))
    assert [len(batch) for batch in batches] == [4, 4, 4, 1]
    whole = {id(item.procedure): 0 for item in items}
    for batch in batches:
        groups = group_items(batch)
        assert len(groups) == len({id(group[0].procedure) for group in groups})
        for group in groups:
            whole[id(group[0].procedure)] += 1
    assert max(whole.values()) > 1
    assert split_entities(items, 4, seed=0) == batches != split_entities(items, 4, seed=1)
