"""What becomes of messages that nothing works on any more."""

from msgspec.structs import replace

from fireside_agent.messages import Message, ToolCall

NEVER_ASKED = "Fireside stopped before this was asked."

OPEN = ("waiting", "asking", "running")
"""States of a call that is not over."""

STOPPED = "Stopped: the turn was ended before the call was finished."
LOST = "Error: Fireside stopped while this was running. Whether it had an effect is not known."
NOT_RUN = "Error: Fireside stopped before this was run."


def settled(message: Message) -> Message:
    """A message that nothing works on: what was running is interrupted, every call has a result."""
    if message.status == "running":
        return replace(message, status="interrupted", tools=[closed(call) for call in message.tools])
    if message.status == "queued":
        return replace(message, status="interrupted", error=NEVER_ASKED)
    return message


def goes_on(message: Message) -> bool:
    """Whether it waits for the person, and so goes on after a restart."""
    return message.status == "running" and any(call.status == "asking" for call in message.tools)


def closed(call: ToolCall, why: str | None = None) -> ToolCall:
    """A call with a result, as a call needs one; as it is where it has ended.

    Args:
        why: said in the result; None: Fireside ended in the middle of it.
    """
    if call.status not in OPEN:
        return call
    said = why or (LOST if call.status == "running" else NOT_RUN)
    result = f"{call.result}\n\n{said}" if call.result else said
    return replace(call, status="aborted", result=result)
