"""The core process: MLX and nothing else. Token ids in, token ids out.

Only `python -m fireside.core` runs this package; nothing of the app imports it.
"""
