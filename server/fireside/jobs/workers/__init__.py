"""The processes of jobs; nothing imports them."""
