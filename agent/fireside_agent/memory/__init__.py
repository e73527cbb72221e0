"""Long-term memory: a vault of plain Markdown in git, which the model reads and the person changes."""
