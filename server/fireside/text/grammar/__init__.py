"""Constraints on what a model may write: from what a request says to what a core enforces."""
