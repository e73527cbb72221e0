"""Which markup a model writes, found from mlx-lm's tokenizer wrapper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from fireside.text.markup.brace_calls import FUNCTION_GEMMA, GEMMA4
from fireside.text.markup.harmony import MARKERS as HARMONY_MARKERS
from fireside.text.markup.json_calls import read_json_tools, read_kimi_k2, read_mistral
from fireside.text.markup.key_value_calls import GLM47, LONGCAT
from fireside.text.markup.pythonic_calls import read_pythonic
from fireside.text.markup.reading import Parser, Reader
from fireside.text.markup.tag_calls import KIMI_K3, MINICPM5, MINIMAX_M2, MUSE_SPARK, QWEN3_CODER
from fireside.text.markup.whole_calls import read_whole

Edges = Mapping[str, tuple[tuple[str, str], ...]]
"""For each state the markers that lead out of it, each with the state behind it."""

NORMAL, REASONING, TOOL = "normal", "reasoning", "tool"
"""mlx-lm's names for the states of an answer. Text in any other state is dropped."""

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "function_gemma": FUNCTION_GEMMA.reader(),
        "gemma4": GEMMA4.reader(),
        "glm47": GLM47.reader(),
        "json_tools": read_json_tools,
        "kimi_k2": read_kimi_k2,
        "kimi_k3": KIMI_K3.reader(),
        "laguna": GLM47.reader(),
        "longcat": LONGCAT.reader(),
        "minicpm5": MINICPM5.reader(),
        "minimax_m2": MINIMAX_M2.reader(),
        "mistral": read_mistral,
        "muse_spark": MUSE_SPARK.reader(),
        "pythonic": read_pythonic,
        "qwen3_coder": QWEN3_CODER.reader(),
    }
)
"""A reader for each of mlx-lm's tool parsers, by its module's name."""

_INNER_MARKERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "function_gemma": ("<escape>",),
        "gemma4": ('<|"|>',),
        "glm47": ("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
        "kimi_k2": ("<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"),
        "kimi_k3": ("<|open|>", "<|close|>", "<|sep|>"),
        "longcat": ("<longcat_arg_key>", "</longcat_arg_key>", "<longcat_arg_value>", "</longcat_arg_value>"),
        "minicpm5": ("<param", "</param>", "<![CDATA[", "]]>"),
        "minimax_m2": ("<invoke", "</invoke>", "<parameter", "</parameter>"),
        "mistral": ("[ARGS]", "[CALL_ID]"),
        "muse_spark": ("<atem:invoke", "</atem:invoke>", "<atem:parameter", "</atem:parameter>"),
        "qwen3_coder": ("<function=", "</function>", "<parameter=", "</parameter>"),
    }
)
_HARMONY_VOCAB = frozenset(("<|start|>", "<|channel|>", "<|message|>", "<|end|>"))


@dataclass(frozen=True)
class CallFormat:
    """How a model writes tool calls.

    Attributes:
        name: the module of mlx-lm's parser; any other name means that calls are read whole.
        start: the marker before calls.
        end: the marker behind them; empty if there is none.
        parser: mlx-lm's `parse_tool_call`.
    """

    name: str
    start: str
    end: str
    parser: Parser

    @property
    def reader(self) -> Reader:
        """What reads such calls."""
        return READERS.get(self.name, read_whole)


@dataclass(frozen=True)
class MarkupSpec:
    """The markup of one model's answers.

    Attributes:
        think: the markers around thinking; None for a model that does not think, or not in this way.
        calls: None for a model without tool calls, or that writes them in the harmony format.
        calls_wanted: whether calls become calls; otherwise their markup is content.
        structural: markers that mean nothing and are dropped from content.
        transitions: more edges between states, as mlx-lm's response formats have them.
        initial: the state in which an answer begins that does not begin with open thinking.
        harmony: whether the answer is a sequence of gpt-oss messages; all else is unused then.
    """

    think: tuple[str, str] | None = None
    calls: CallFormat | None = None
    calls_wanted: bool = True
    structural: tuple[str, ...] = ()
    transitions: Edges = field(default_factory=dict[str, tuple[tuple[str, str], ...]])
    initial: str = NORMAL
    harmony: bool = False

    @classmethod
    def from_tokenizer(cls, wrapper: Any) -> MarkupSpec:
        """The markup that mlx-lm's `TokenizerWrapper` tells of; gpt-oss is told by its vocabulary."""
        calls = None
        if wrapper.tool_parser is not None and wrapper.tool_call_start:
            name = getattr(wrapper.tool_parser, "__module__", "").rpartition(".")[2]
            calls = CallFormat(
                name, wrapper.tool_call_start, wrapper.tool_call_end or "", wrapper.tool_parser
            )
        think = (wrapper.think_start, wrapper.think_end) if wrapper.has_thinking else None
        transitions = {state: tuple(edges) for state, edges in wrapper.response_transitions.items()}
        harmony = calls is None and not transitions and wrapper.get_vocab().keys() >= _HARMONY_VOCAB
        return cls(
            think=think,
            calls=calls,
            structural=tuple(wrapper.structural_markers),
            transitions=transitions,
            initial=wrapper.response_initial_state or NORMAL,
            harmony=harmony,
        )

    def without_calls(self) -> MarkupSpec:
        """The same without tool calls: their markup is content. For `tool_choice: none`."""
        return replace(self, calls=None, calls_wanted=False)

    def keeps(self, token: str) -> bool:
        """Whether a special token's text is a marker or a part of one, and must stay in the raw text."""
        return any(token in marker for marker in self.markers)

    @property
    def markers(self) -> tuple[str, ...]:
        """All texts with a meaning."""
        if self.harmony:
            return HARMONY_MARKERS
        calls = self.calls
        of_calls = (calls.start, calls.end, *_INNER_MARKERS.get(calls.name, ())) if calls else ()
        of_edges = (marker for edges in self.transitions.values() for marker, _ in edges)
        every = (*(self.think or ()), *self.structural, *of_calls, *of_edges)
        return tuple(dict.fromkeys(marker for marker in every if marker))

    def edges(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """The markers that matter in each state, built as mlx-lm builds its own state machine.

        In addition a marker that changes nothing where it stands (a second opening one, a closing one in
        content) leads back to its state, so that it is dropped.
        """
        normal: list[tuple[str, str]] = [(marker, NORMAL) for marker in self.structural]
        reasoning: list[tuple[str, str]] = []
        if self.think:
            start, end = self.think
            normal += (start, REASONING), (end, NORMAL)
            reasoning += (end, NORMAL), (start, REASONING)
        further = {state: [*edges] for state, edges in self.transitions.items()}
        if self.calls:
            if not any(target == TOOL for edges in further.values() for _, target in edges):
                normal.append((self.calls.start, TOOL))
            if self.think:
                reasoning.append((self.calls.start, TOOL))
        else:
            further = {state: [e for e in edges if e[1] != TOOL] for state, edges in further.items()}
        own = {NORMAL: normal, REASONING: reasoning}
        return {
            state: tuple(dict([*own.get(state, ()), *further.get(state, ())]).items())
            for state in (own | further)
        }
