"""The model hub: search, downloads into the Hugging Face cache, and what may be removed again."""
