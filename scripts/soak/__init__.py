"""Long runs that look for what leaks, hangs or changes."""
