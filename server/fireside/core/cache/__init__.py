"""Keys and values that outlive a row."""
