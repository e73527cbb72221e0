"""What the model can do on this machine and elsewhere, each thing a small class."""
