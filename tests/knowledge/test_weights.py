"""The table is checked against the real weights of the merged file."""

import csv
import gzip
from statistics import geometric_mean

import pytest

from koala.knowledge.weights import estimate_weight


@pytest.fixture(scope="session")
def rows(data):
    path = data / "conceptnet" / "conceptnet_en_merged.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in reader if row["real_cn5_weight"] and row["sources"] != "koala"]


@pytest.mark.parametrize("in_wordnet", [False, True])
@pytest.mark.parametrize("n_votes", range(8))
def test_an_estimate_is_the_mean_of_the_real_weights(rows, in_wordnet, n_votes):
    weights = [
        float(row["real_cn5_weight"])
        for row in rows
        if row["relation"] != "RelatedTo"
        and (row["in_wordnet31"] == "1") == in_wordnet
        and min(int(row["cn4_votes"] or 0), 7) == n_votes
    ]
    assert len(weights) >= 10
    found = estimate_weight("IsA", in_wordnet=in_wordnet, n_votes=n_votes)
    assert found == pytest.approx(geometric_mean(weights), abs=0.0051)


def test_relatedto_can_only_be_exact_with_votes():
    # Re-weighting subtracts 0.3, and an exact match needs at least 1.
    assert estimate_weight("RelatedTo", in_wordnet=True) < 1.3
    assert estimate_weight("RelatedTo", n_votes=1) >= 1.3


@pytest.mark.parametrize(("n_votes", "same"), [(-3, 0), (0, 0), (100, 7), (1e300, 7)])
def test_votes_beyond_the_table_count_as_its_ends(n_votes, same):
    assert estimate_weight("IsA", n_votes=n_votes) == estimate_weight("IsA", n_votes=same)
