"""A chat's title, from the model, once it has answered for the first time."""

from fireside_agent.conversation import Conversation
from fireside_agent.messages import SamplingChoice
from fireside_agent.question import Question
from fireside_agent.services import Services
from fireside_agent.store.sessions import make_title

PROMPT_CHARACTERS = 600
TITLE_TOKENS = 24


async def retitle(conversation: Conversation, services: Services) -> None:
    """Ask for a title in the background and keep it, unless a person has given one. Never from thoughts.

    Raises:
        ProviderError: the model gave none.
        StorageError: it could not be stored.
    """
    first = next((message for message in conversation.transcript if message.role == "user"), None)
    if first is None or conversation.facts.titled_by != "prompt":
        return
    question = Question(
        [{"role": "user", "content": f"Write a title for: {first.text[:PROMPT_CHARACTERS]}"}],
        sampling=SamplingChoice(temperature=0, max_tokens=TITLE_TOKENS),
        thinking=False,
        background=True,
        chat=conversation.id,
    )
    answer = await services.provider.text(question)
    wanted = answer.strip().strip("\"'*#").strip()
    if not wanted or conversation.facts.titled_by != "prompt":
        return
    title = make_title(wanted)
    await services.store.set_title(conversation.id, title, "model")
    if conversation.facts.titled_by != "prompt":
        return
    conversation.facts.title, conversation.facts.titled_by = title, "model"
    services.sessions_changed()
