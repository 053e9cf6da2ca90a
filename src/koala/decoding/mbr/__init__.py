"""Minimum Bayes risk decoding (Kumar and Byrne 2004): the grid with the best expected score.

Viterbi finds the most probable trajectory of each entity as a whole. Scores count parts: an input,
a move, a conversion, which many trajectories share that differ elsewhere. So grids are sampled from
the posterior, and the grid is chosen that scores best against all samples on average.
"""
