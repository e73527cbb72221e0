"""What `scripts/screenshots.py` is made of."""
