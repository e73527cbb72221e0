"""Full-text search over titles, messages, reasoning, tool calls, attached text and memory articles."""
