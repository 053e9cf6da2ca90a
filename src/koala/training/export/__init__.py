"""Export of trained networks to folders that run without torch."""
