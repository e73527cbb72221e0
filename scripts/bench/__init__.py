"""Benchmarks: Fireside beside a peer, in the same run, as ratios."""
