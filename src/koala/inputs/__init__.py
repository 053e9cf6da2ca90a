"""Input of a network: entities with their triples as arrays, and the training targets."""
