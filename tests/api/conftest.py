"""What tests of the API share."""

from collections.abc import Iterator

import openai
import pytest

from support.server import Server


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    """OpenAI's own client on the shared server."""
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client:
        yield client
