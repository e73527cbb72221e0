"""How a request says that tokens are drawn, for every protocol."""

from __future__ import annotations

import secrets
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from fireside.api.constraints import ConstraintFields
from fireside.http.errors import BadRequest
from fireside.text.model import TextModel
from fireside.wire import Sampling

N = TypeVar("N", int, float)
Unit = Annotated[float, Meta(ge=0, le=1)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Size = Annotated[int, Meta(ge=0, le=2**31 - 1)]

_DEFAULT_TEMPERATURE = 0.7
_DEFAULT_XTC_THRESHOLD = 0.1
_DEFAULT_WINDOW = 20

_MAX_BIAS = 100
"""What OpenAI allows; no logit overflows at it, not even in float16."""


class SamplingFields(ConstraintFields, frozen=True):
    """Sampling as a request's body or the server's flags have it; None means that nothing is said.

    A route's body inherits these fields, so that their ranges are written once. Structs have one base, so
    that what tokens are drawn from comes first.
    """

    temperature: Annotated[float, Meta(ge=0, le=5)] | None = None
    top_p: Unit | None = None
    top_k: Size | None = None
    min_p: Unit | None = None
    seed: int | None = None
    xtc_probability: Unit | None = None
    xtc_threshold: Unit | None = None
    logit_bias: Any = None
    """Token id to bias, as JSON has it: see `_biases`."""
    repetition_penalty: Annotated[float, Meta(ge=0, le=10)] | None = None
    repetition_context_size: Size | None = None
    presence_penalty: Penalty | None = None
    presence_context_size: Size | None = None
    frequency_penalty: Penalty | None = None
    frequency_context_size: Size | None = None

    @property
    def alone(self) -> bool:
        """Whether the answer is made apart from others: a seed promises it again, whatever arrives beside."""
        return self.seed is not None


def choose(fields: SamplingFields, flags: SamplingFields, text: TextModel, thinking: bool = True) -> Sampling:
    """The request's values over the server's flags over the model's generation_config over ours.

    Args:
        thinking: the answer may begin with reasoning; one that may not is drawn no hotter than our own
            default, unless somebody asked for it.

    Raises:
        BadRequest: `logit_bias` is not what it must be.
    """
    model = text.defaults
    recommended = _first(model.temperature, _DEFAULT_TEMPERATURE)
    usual = recommended if thinking else min(recommended, _DEFAULT_TEMPERATURE)
    return Sampling(
        temperature=_first(fields.temperature, flags.temperature, usual),
        top_p=_first(fields.top_p, flags.top_p, model.top_p, 0.0),
        top_k=_first(fields.top_k, flags.top_k, model.top_k, 0),
        min_p=_first(fields.min_p, flags.min_p, 0.0),
        seed=secrets.randbits(53) if fields.seed is None else fields.seed % (1 << 64),
        xtc_probability=_first(fields.xtc_probability, 0.0),
        xtc_threshold=_first(fields.xtc_threshold, _DEFAULT_XTC_THRESHOLD),
        xtc_exempt=text.stop_ids + text.newline_ids if fields.xtc_probability else (),
        logit_bias=_biases(fields.logit_bias, text.vocab_size),
        repetition_penalty=_first(fields.repetition_penalty, model.repetition_penalty, 0.0),
        repetition_context_size=_first(fields.repetition_context_size, _DEFAULT_WINDOW),
        presence_penalty=_first(fields.presence_penalty, 0.0),
        presence_context_size=_first(fields.presence_context_size, _DEFAULT_WINDOW),
        frequency_penalty=_first(fields.frequency_penalty, 0.0),
        frequency_context_size=_first(fields.frequency_context_size, _DEFAULT_WINDOW),
    )


def _biases(value: Any, vocab_size: int) -> dict[int, float]:
    """`logit_bias` by token id; JSON has the ids as strings, and some clients the numbers too."""
    try:
        biases = msgspec.convert({} if value is None else value, dict[int, float], strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest("logit_bias must be a dict of int to float", param="logit_bias") from error
    for token, bias in biases.items():
        if not 0 <= token < vocab_size:
            raise BadRequest(
                f"logit_bias: {token} is not a token id; they are from 0 to {vocab_size - 1}",
                param="logit_bias",
            )
        if not -_MAX_BIAS <= bias <= _MAX_BIAS:
            raise BadRequest(
                f"logit_bias: {bias} for token {token} is not from -{_MAX_BIAS} to {_MAX_BIAS}",
                param="logit_bias",
            )
    return biases


def _first(*values: N | None) -> N:
    return next(value for value in values if value is not None)
