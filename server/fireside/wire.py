"""The messages between the app and a core, over one private socketpair.

Both sides import this module and `framing`, and nothing of each other. Requests go down one by one; one
`Step` a step comes up for all rows. Token ids are the only text that crosses: the core knows no tokenizer.
"""

from __future__ import annotations

from typing import Literal

import msgspec

WIRE_VERSION = 6

FinishReason = Literal["stop", "length"]
LoadPhase = Literal["importing", "preparing", "loading", "warming"]


class Logprobs(msgspec.Struct, frozen=True, array_like=True):
    """How likely a token was: natural logarithms, after bias and penalties, before the sampler's filters."""

    chosen: float
    """Of the token itself."""
    top: list[tuple[int, float]]
    """The likeliest token ids with theirs, likeliest first."""


class Sampling(msgspec.Struct, frozen=True, array_like=True):
    """How a token is drawn. The draw depends on `seed` and the token's index alone."""

    temperature: float = 0.0
    """0 takes the most likely token."""
    top_p: float = 0.0
    """0 or 1: off."""
    top_k: int = 0
    """0: off."""
    min_p: float = 0.0
    """0: off."""
    seed: int = 0
    """64 bits, unsigned."""
    xtc_probability: float = 0.0
    """How often, 0 to 1, a step leaves out its likeliest tokens. 0: off."""
    xtc_threshold: float = 0.1
    """Of the tokens more likely than this only the least likely stays, when a step leaves them out."""
    xtc_exempt: tuple[int, ...] = ()
    """Tokens that XTC never leaves out."""
    logit_bias: dict[int, float] = {}
    """Token id to what is added to its logit. Ids that the model does not have are ignored."""
    repetition_penalty: float = 0.0
    """Divides positive logits of seen tokens and multiplies negative ones. 0 or 1: off."""
    repetition_context_size: int = 20
    """How many tokens back count as seen, the prompt's included. 0: all."""
    presence_penalty: float = 0.0
    """Taken off the logits of seen tokens, once each. 0: off."""
    presence_context_size: int = 20
    frequency_penalty: float = 0.0
    """Taken off the logits of seen tokens for each time that they were seen. 0: off."""
    frequency_context_size: int = 20


class SsdSettings(msgspec.Struct, frozen=True, array_like=True):
    """How the SSD tier below the prompt cache is kept."""

    dir: str
    max_bytes: int
    """Of all files in it, of other models too."""
    queue_bytes: int
    """Of what may wait to be written; the oldest is dropped first, the newest never."""
    demote_idle_s: float
    """Seconds without use after which an entry is left on the disk alone; 0: never."""
    verify: bool = False
    """Check each tensor's BLAKE2b on its way back, beside its CRC-32."""
    write_behind: bool = True
    """Write entries soon after they came; else only those that leave the memory."""


class Start(msgspec.Struct, frozen=True, tag="start"):
    """The first message down: what to load. Then come `Load`, and requests after `Ready`."""

    version: int
    model_path: str | None
    """A model folder, or None for the embedded default model."""
    models_dir: str
    """Where the embedded model's folder is made."""
    cache_dir: str
    """Where prepared libraries and their proofs are kept."""
    max_rows: int
    ssd: SsdSettings | None = None
    """None: what the prompt cache gives up is lost."""


class Load(msgspec.Struct, frozen=True, tag="load"):
    """The answer to `Located`: the model fits, and these are its limits in bytes."""

    kv_budget_bytes: int
    """Of keys and values, of the rows and the prompt cache together. The rows come first."""
    prompt_cache_bytes: int
    """That the prompt cache may grow to; 0 turns it off."""
    memory_limit_bytes: int | None = None
    """Of MLX's allocator; None leaves it as it is."""
    float32_bytes: int | None = None
    """On a CPU, what the weights may take as float32; None for as much as the machine has room for."""


class ThinkingBudget(msgspec.Struct, frozen=True, array_like=True):
    """Ends a thinking block that gets too long: the forced tokens close it, and the answer goes on."""

    tokens: int
    """Of the answer, after which a block that is still open is closed; 0 closes it at once."""
    opened: bool
    """The prompt has begun the block."""
    open_id: int
    """The token that begins a block in the answer; -1 if there is none."""
    close_id: int
    """The token that shows a block to be over."""
    forced: list[int]


class Grammar(msgspec.Struct, frozen=True, array_like=True):
    """What the tokens of an answer must be, once its thoughts are over."""

    compiled: bytes
    """An `xgrammar.CompiledGrammar` as JSON, for the tokenizer that `Vocabulary` told of."""
    opened: bool = False
    """The prompt has begun a thinking block: the grammar starts after `closing`."""
    open_id: int = -1
    """The token that may begin a thinking block as the answer's first; -1 if there is none."""
    closing: list[int] = []
    """The tokens in a row that end a thinking block; empty if there is none."""


class Vocabulary(msgspec.Struct, frozen=True, tag="vocabulary"):
    """The model's tokens as grammars know them; comes before the first `Submit` that has one."""

    info: bytes
    """An `xgrammar.TokenizerInfo` as JSON."""


class Embed(msgspec.Struct, frozen=True, tag="embed"):
    """Texts to vectors, of a model that embeds; answered by `Vectors`."""

    id: int
    texts: list[list[int]]
    """Token ids, those that the tokenizer adds included."""


class Vectors(msgspec.Struct, frozen=True, tag="vectors"):
    """One vector of unit length a text, in the order asked for."""

    id: int
    size: int
    """Numbers of a vector."""
    data: bytes
    """float32, little-endian, (texts, size) in rows."""


class Submit(msgspec.Struct, frozen=True, tag="submit"):
    """Generate for one row. `generated` is not empty when the row is taken up again."""

    id: int
    prompt: list[int]
    generated: list[int]
    max_tokens: int
    """Of the whole answer, `generated` included."""
    stop_ids: list[int]
    sampling: Sampling
    top_logprobs: int | None = None
    """Report each token's `Logprobs`, with so many of the likeliest; None: do not."""
    namespace: str = ""
    """Keys and values are shared only within one: an adapter's are not the base model's."""
    boundary: int = 0
    """So many tokens of the prompt begin the next turn's prompt too; 0 where that is not known."""
    thinking: ThinkingBudget | None = None
    grammar: Grammar | None = None
    in_memory: bool = False
    """What it leaves in the prompt cache never goes to the disk."""
    owner: str = ""
    """Whose chat it is of, for `Forget`; empty where nobody says."""
    kept: bool = True
    """Whether it leaves anything in the prompt cache."""


class Drain(msgspec.Struct, frozen=True, tag="drain"):
    """Write all of the prompt cache to the SSD tier, first of all; answered by `Drained`."""

    id: int
    within_s: float
    """Then it is answered whatever is left."""
    demote: bool = False
    """Whether the memory is freed of what is on the disk in the end."""


class Forget(msgspec.Struct, frozen=True, tag="forget"):
    """Remove what rows of an owner have left in the prompt cache and in the SSD tier, and keep nothing of
    those that still run."""

    owner: str


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """Forget a row; nothing more is sent for it. What it has read and written so far goes to the prompt
    cache. An unknown id is ignored."""

    id: int


class Phase(msgspec.Struct, frozen=True, tag="phase"):
    """Loading goes on. `done` and `total` are bytes, 0 where they are not known."""

    phase: LoadPhase
    detail: str
    done: int = 0
    total: int = 0


class Located(msgspec.Struct, frozen=True, tag="located"):
    """The model's folder is complete. Nothing of it is loaded before the app answers with `Load`."""

    model_path: str
    device: Literal["cpu", "gpu"]
    memory_bytes: int
    """Of the device that are free for the model, the prompt cache and the rows."""
    float32_bytes: int | None
    """On a CPU, what the weights may take as float32; None on a GPU."""
    prefill_step: int
    """Tokens of a prompt that are read at once at most."""


class WarmUp(msgspec.Struct, frozen=True, tag="warm_up"):
    """Shapes that have been compiled while idle; requests are served meanwhile."""

    done: int
    total: int


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The model is loaded and has answered a first inference."""

    weights: str
    """How the weights run: `float32`, `4-bit`, `bfloat16`, …"""
    weights_bytes: int
    device: Literal["cpu", "gpu"]
    versions: dict[str, str]
    blas: dict[str, str | float | int] | None
    warnings: list[str]
    batches: bool = True
    """Whether rows can decode together; else one at a time."""
    embeds: bool = False
    """Whether the model answers `Embed`, and nothing else; else it answers `Submit`."""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The model cannot be loaded; the core exits and starting it again would not help."""

    message: str


class RowToken(msgspec.Struct, frozen=True, array_like=True):
    """One row's token of a step. With `finish` `stop` the token is the stop token, not text."""

    id: int
    token: int
    finish: FinishReason | None = None
    logprobs: Logprobs | None = None


class RowFailure(msgspec.Struct, frozen=True, array_like=True):
    """A row that cannot go on, and why: it has been forgotten, and another core would do no better."""

    id: int
    message: str


class RowPrefill(msgspec.Struct, frozen=True, array_like=True):
    """How much of a row's prompt has been read, in tokens; what the prompt cache had is part of it."""

    id: int
    done: int
    total: int
    cached: int = 0
    """Tokens that the prompt cache had."""
    from_ssd: int = 0
    """Of those, tokens that came from the SSD tier."""


class CacheState(msgspec.Struct, frozen=True, array_like=True):
    """The prompt cache. Counters run from the core's start."""

    entries: int = 0
    bytes: int = 0
    max_bytes: int = 0
    hits: int = 0
    misses: int = 0
    evictions: int = 0


class SsdState(msgspec.Struct, frozen=True, array_like=True):
    """The SSD tier. Counters run from the core's start."""

    entries: int = 0
    """Of the model that is served."""
    bytes: int = 0
    """Of those entries."""
    max_bytes: int = 0
    """Of all models'."""
    restores: int = 0
    spills: int = 0
    """Entries that were written."""
    restore_ms_last: float = 0.0
    demotions: int = 0
    """Entries that were left on the disk alone because nobody used them."""
    pending_spills: int = 0
    pending_spill_bytes: int = 0
    dropped_spills: int = 0
    """Entries that were not written: too many waited, or the disk refused them."""
    quarantined: int = 0
    """Files that were found to be damaged."""
    written_bytes: int = 0
    """Put on the disk so far, of entries that are not complete yet too."""
    spilled_bytes: int = 0
    """Of the entries that were written."""


class Tier(msgspec.Struct, frozen=True, tag="tier"):
    """Both caches, when something has changed outside of the steps."""

    ssd: SsdState
    cache: CacheState


class Drained(msgspec.Struct, frozen=True, tag="drained"):
    """What came of a `Drain`."""

    id: int
    written: int
    """Entries."""
    written_bytes: int
    dropped: int
    """Entries that could not be written."""
    left: int
    """Entries that still wait: the time was over."""
    left_bytes: int
    demotions: int = 0


class Step(msgspec.Struct, frozen=True, tag="step"):
    """What one step did for all rows."""

    tokens: list[RowToken]
    prefill: list[RowPrefill]
    kv_bytes: int
    """Of the rows, the prompt cache apart."""
    cache: CacheState = CacheState()
    computed: int = 0
    """Prompt tokens that this step computed."""
    failed: list[RowFailure] = []


Down = Start | Load | Vocabulary | Submit | Embed | Cancel | Drain | Forget
Up = Phase | Located | Ready | WarmUp | Failed | Step | Vectors | Tier | Drained
