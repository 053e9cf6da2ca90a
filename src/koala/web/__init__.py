"""Web page and HTTP API: texts in, grids with reasons out, with limits on every request."""
