"""Long work on models. Each job runs in a process of its own."""
