"""Text on the app's side of the core: chat template, tokens to text, stop text."""
