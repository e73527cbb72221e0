"""The page's files, and `/api` beside the agent's."""
