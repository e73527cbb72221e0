"""Models on disk: where they are, whether they are whole, and the one that needs no download."""
