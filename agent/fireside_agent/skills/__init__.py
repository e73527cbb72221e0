"""Short instructions for the model, each for one kind of work, read when that work comes up."""
