"""What every room that speaks HTTP shares: errors, security, server-sent events, listening."""
