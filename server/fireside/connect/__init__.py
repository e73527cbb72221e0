"""Writes Fireside into the settings of other programs, and takes it out again."""
