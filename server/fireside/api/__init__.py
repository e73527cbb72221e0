"""`/v1`: one file a protocol. Each makes a `GenerationRequest` and encodes one stream of events."""
