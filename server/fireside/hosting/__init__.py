"""Keeps models running: the served one, the others of the pool, and the change from one to another."""
