"""What a network reads: entities with their triples as arrays, and the targets of training."""
