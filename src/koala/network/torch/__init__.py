"""The network, in torch. Every class names its equation of the paper."""
