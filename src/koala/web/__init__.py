"""The page and the HTTP API: texts in, grids with reasons out, safe to put on a port."""
