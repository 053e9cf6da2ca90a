"""Fixed cells of recipes: they hold under both decodings, or the contradiction is told."""

import itertools

import numpy as np
import pytest

from koala.decoding.conditional import Fix
from koala.decoding.conditional_recipes import fix_recipe
from koala.decoding.mbr.recipes import choose_changes
from koala.decoding.recipes import NOWHERE, apply_step, decode_recipe
from koala.errors import KoalaError
from koala.grid.states import Tag

from .mbr.test_recipes import ENTITIES, NAMES, build_recipe

N_STEPS = 4


def all_rows(n_ingredients=2):
    """Give every grid that some locations of the steps and some participation lead to."""
    found = set()
    uses = list(itertools.product([False, True], repeat=n_ingredients))
    for steps in itertools.product(itertools.product(range(3), uses), repeat=N_STEPS):
        now = np.full(n_ingredients, NOWHERE)
        rows = [now]
        for location, used in steps:
            now = apply_step(np.int64(location), np.array(used), now)
            rows.append(now)
        found.add(tuple(map(tuple, np.stack(rows, axis=1).tolist())))
    return found


@pytest.fixture(scope="module")
def possible():
    return all_rows()


def build_fixes(rng):
    """Fix one to three cells of the first two ingredients at random."""
    fixes = [{}, {}, {}]
    for _ in range(rng.integers(1, 4)):
        location = int(rng.choice([NOWHERE, 0, 1, 2]))
        fixes[rng.integers(2)][int(rng.integers(1, N_STEPS + 1))] = Fix(location=location)
    return fixes


@pytest.mark.parametrize("seed", range(40))
def test_fixed_locations_hold_or_are_impossible(seed, possible):
    output, fixes = build_recipe(seed, N_STEPS), build_fixes(np.random.default_rng(seed))

    def holds(rows):
        return all(
            rows[index][position] == fix.location
            for index, own in enumerate(fixes)
            for position, fix in own.items()
        )

    if not any(map(holds, possible)):
        with pytest.raises(KoalaError, match="contradict each other"):
            fix_recipe(output, fixes, ENTITIES)
        return
    fixed = fix_recipe(output, fixes, ENTITIES)
    assert holds(decode_recipe(fixed))
    numbers = {"-": NOWHERE, "?": 0, "bowl": 1, "pan": 2}
    chosen = choose_changes(fixed, ENTITIES, NAMES)
    assert holds([[numbers[name] for name in row.locations] for row in chosen])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("step", range(1, N_STEPS + 1))
def test_fixed_actions_hold(seed, step):
    output = build_recipe(seed, N_STEPS)
    row = decode_recipe(fix_recipe(output, [{step: Fix(tags=frozenset({Tag.C}))}, {}, {}]))[0]
    assert row[step - 1] == NOWHERE != row[step]
    stays = Fix(tags=frozenset({Tag.O_C, Tag.E, Tag.O_D}))
    row = decode_recipe(fix_recipe(output, [{step: stays}, {}, {}]))[0]
    assert row[step - 1] == row[step]
    if step > 1:
        moves = Fix(tags=frozenset({Tag.M}), must_move=True)
        row = decode_recipe(fix_recipe(output, [{step: moves}, {}, {}]))[0]
        assert NOWHERE != row[step - 1] != row[step] != NOWHERE


def test_an_ingredient_that_stays_does_not_lead_the_others():
    output = build_recipe(1)
    output.tags[1, 1, :] = -50.0
    output.tags[1, 1, [list(Tag).index(Tag.C), list(Tag).index(Tag.M)]] = 50.0
    output.locations[:, 2, 2] = 50.0
    fixes = [{1: Fix(location=1), 2: Fix(location=1)}, {}, {}]
    rows = decode_recipe(fix_recipe(output, fixes))
    assert rows[0][1:3] == (1, 1)
    assert rows[1][2] == 2


def test_what_recipes_cannot_have_is_told():
    output = build_recipe(0)
    with pytest.raises(KoalaError, match="flour: a location before the first step"):
        fix_recipe(output, [{0: Fix(location=1)}, {}, {}], ENTITIES)
    with pytest.raises(KoalaError, match="never destroyed"):
        fix_recipe(output, [{2: Fix(tags=frozenset({Tag.D}))}, {}, {}], ENTITIES)
    with pytest.raises(KoalaError, match="never cease"):
        fix_recipe(output, [{1: Fix(location=1), 2: Fix(location=NOWHERE)}, {}, {}], ENTITIES)
