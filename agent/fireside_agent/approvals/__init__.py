"""Which calls run without a question: the rules a person has made, and what was asked and answered."""
