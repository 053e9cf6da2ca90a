"""Minimum Bayes risk decoding (Kumar and Byrne 2004): the grid with the best expected score.

Viterbi finds the most probable trajectory of each entity as a whole. Metrics count its parts (an
input, a move, a conversion), and trajectories that differ elsewhere share such parts. MBR decoding
therefore samples grids from the posterior and chooses the grid with the best mean score against
all samples.
"""
