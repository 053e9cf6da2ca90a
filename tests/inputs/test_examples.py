import pytest

from koala.document import Procedure
from koala.inputs.examples import build_items, group_items, split_items


@pytest.fixture(scope="module")
def items():
    sizes = (1, 4, 2, 2, 1, 3)
    procedures = [
        Procedure.from_text("Stir it.\n" * n, [f"thing {i}" for i in range(n)]) for n in sizes
    ]
    return build_items(procedures, [[()] * n for n in sizes])


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_batches_hold_every_item_once_and_keep_procedures_whole(items, seed):
    batches = split_items(items, 3, seed=seed)
    assert sorted(id(item) for batch in batches for item in batch) == sorted(map(id, items))
    assert all(len(batch) <= 3 or len(group_items(batch)) == 1 for batch in batches)
    homes = {}
    for number, batch in enumerate(batches):
        for item in batch:
            homes.setdefault(id(item.procedure), set()).add(number)
    assert all(len(found) == 1 for found in homes.values())


def test_a_seed_decides_the_order(items):
    orders = [
        [[id(item) for item in batch] for batch in split_items(items, 3, seed=seed)]
        for seed in (0, 0, 1)
    ]
    assert orders[0] == orders[1] != orders[2]
