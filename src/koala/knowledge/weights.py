"""Weights estimated from evidence, for sources of ConceptNet that give none.

The more people entered an assertion (ConceptNet 4 counts their votes), the heavier it is; one of
WordNet has a weight of about 2. `benchmarks/knowledge_weights.py` fits the table on the assertions
whose real weight is known, and measures its error on others.
"""

MOST_VOTES = 7
"""Assertions with more votes are estimated like those with so many."""

WITHOUT_WORDNET = (1.07, 1.00, 1.41, 1.89, 2.52, 2.65, 2.84, 3.70)
WITH_WORDNET = (1.82, 1.26, 1.42, 1.67, 2.42, 2.63, 3.25, 3.50)
"""Geometric means of real weights: by the number of votes, first for none known."""

VAGUE_WEIGHT = 1.0
"""A RelatedTo assertion without other evidence; after re-weighting it is never an exact match."""

SUPPORTED_VAGUE_WEIGHT = 1.3
"""A RelatedTo assertion with votes: the least weight with which it can be an exact match.

Of RelatedTo, real weights are known only for what the published system retrieved, which are the
heaviest; so its weights are not fitted.
"""


def estimate_weight(relation: str, *, in_wordnet: bool = False, n_votes: float = 0.0) -> float:
    """Estimate the weight of an assertion from its evidence.

    >>> estimate_weight("IsA"), estimate_weight("IsA", n_votes=3)
    (1.07, 1.89)
    """
    if relation == "RelatedTo":
        return SUPPORTED_VAGUE_WEIGHT if n_votes > 0 else VAGUE_WEIGHT
    table = WITH_WORDNET if in_wordnet else WITHOUT_WORDNET
    return table[min(max(int(n_votes), 0), MOST_VOTES)]
