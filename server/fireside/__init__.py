"""Fireside: a private place to talk with the language models on your own machine."""

__version__ = "0.1.0"
