"""How the pocket models under tests/models are made: data, tokenizer, training, export, evaluation."""
