"""Texts to vectors: the models that do it, and the order in which texts are read."""
