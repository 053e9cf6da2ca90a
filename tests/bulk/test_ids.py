"""Counting repeated ids."""

import json

import pytest

from koala.bulk.ids import count_repeated


@pytest.mark.parametrize(
    ("ids", "n_repeated"), [([], 0), (["a"], 0), (["a", "b", "A"], 0), (["b", "a", "b", "b"], 2)]
)
def test_every_occurrence_after_the_first_counts(tmp_path, ids, n_repeated):
    path = tmp_path / "grids.jsonl"
    path.write_text("".join(json.dumps({"n": 1, "id": id}) + "\n" for id in ids))
    assert count_repeated(path) == n_repeated
