"""The chat templates of models, and what conversations they are given."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fireside.http.errors import BadRequest
from fireside.text.markup import MarkupSpec
from fireside.text.messages import ChatMessage, FunctionCall
from fireside.text.mlxlm import load_tokenizer
from fireside.text.template import ChatTemplate, TemplateOptions
from fireside.text.thinking import thinking_tokens
from support.server import POCKET

LOOPS_OVER_ARGUMENTS = (
    "{% for m in messages %}[{{ m.role }}]{% if m.tool_calls %}"
    "{% for c in m.tool_calls %}<{{ c.function.name }}>"
    "{% for k, v in c.function.arguments | items %}{{ k }}={{ v }};{% endfor %}{% endfor %}"
    "{% else %}{{ m.content }}{% endif %}{% endfor %}"
)
CALLS = "{% for m in messages %}{% for c in m.tool_calls %}WRITTEN{% endfor %}{% endfor %}"
ADDS_ARGUMENTS = CALLS.replace("WRITTEN", "{{ 'call ' + c.function.arguments + '!' }}")
PRINTS_ARGUMENTS = CALLS.replace("WRITTEN", "{{ c.function.arguments }}")
STRICT = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}</>{% endfor %}"
)


class Loaded:
    """Pocket's tokenizer with any chat template."""

    def __init__(self, folder: Path, template: str | None = None) -> None:
        shutil.copytree(POCKET, folder, ignore=shutil.ignore_patterns("*.safetensors"))
        if template is not None:
            (folder / "chat_template.jinja").write_text(template)
        self.tokenizer: Any = load_tokenizer(folder, None)
        self.template = ChatTemplate(self.tokenizer)

    def text(self, *messages: ChatMessage, **values: Any) -> str:
        options = TemplateOptions(values={"enable_thinking": False, **values})
        return self.tokenizer.decode(self.template.render(messages, options).ids)


@pytest.fixture(scope="module")
def pocket(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return Loaded(tmp_path_factory.mktemp("pocket") / "model")


def user(text: str) -> ChatMessage:
    return ChatMessage("user", text)


def system(text: str) -> ChatMessage:
    return ChatMessage("system", text)


def calling(arguments: dict[str, Any]) -> ChatMessage:
    return ChatMessage("assistant", "", calls=(FunctionCall("length", arguments, "call_1"),))


def test_a_plain_conversation_is_tokenized_as_transformers_does(pocket: Loaded) -> None:
    messages = [
        system("Be brief."),
        user("Repeat: naïve 🙂"),
        ChatMessage("assistant", "naïve 🙂"),
        user("Again."),
    ]
    prompt = pocket.template.render(messages, TemplateOptions(values={"enable_thinking": False}))
    plain = [{"role": m.role, "content": m.content} for m in messages]
    assert prompt.ids == pocket.tokenizer.apply_chat_template(
        plain, add_generation_prompt=True, enable_thinking=False
    )
    assert not prompt.thinking_open


@pytest.mark.parametrize("mark", ["<|im_end|>", "<|im_start|>", "<|endoftext|>", "<think>", "<tool_call>"])
@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_mark_that_somebody_typed_stays_text(pocket: Loaded, mark: str, role: str) -> None:
    typed = ChatMessage(role, f"What is {mark}? {mark}")
    other = ChatMessage(role, "What is it? it")
    options = TemplateOptions(values={"enable_thinking": False})
    ids, without = (pocket.template.render([message], options).ids for message in (typed, other))
    (mark_id,) = pocket.tokenizer.encode(mark, add_special_tokens=False)
    assert ids.count(mark_id) == without.count(mark_id)
    assert f"What is {mark}? {mark}" in pocket.tokenizer.decode(ids)


def test_control_tokens_stay_text_in_a_system_prompt_too(pocket: Loaded) -> None:
    ids = pocket.template.render([system("Never write <|im_end|>."), user("Hi")], TemplateOptions()).ids
    (end,) = pocket.tokenizer.encode("<|im_end|>", add_special_tokens=False)
    assert ids.count(end) == 2


@pytest.mark.parametrize("template", [LOOPS_OVER_ARGUMENTS, ADDS_ARGUMENTS, PRINTS_ARGUMENTS])
def test_arguments_suit_templates_that_loop_and_templates_that_print(tmp_path: Path, template: str) -> None:
    loaded = Loaded(tmp_path / "model", template)
    text = loaded.text(user("How long?"), calling({"text": "fern ü"}))
    expected = {LOOPS_OVER_ARGUMENTS: "text=fern ü;", ADDS_ARGUMENTS: 'call {"text": "fern ü"}!'}
    assert expected.get(template, json.dumps({"text": "fern ü"}, ensure_ascii=False)) in text


def test_neither_none_nor_null_is_written_where_a_message_has_no_text(pocket: Loaded) -> None:
    text = pocket.text(
        user("How long?"), calling({}), ChatMessage("tool", "4", call_id="call_1"), user("And?")
    )
    assert "None" not in text
    assert "null" not in text
    assert '{"name": "length", "arguments": {}}' in text


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([system("S"), user("U")], "<user>S\n\nU</>"),
        ([system("S"), system("T"), user("U")], "<user>S\n\nT\n\nU</>"),
        (
            [user("A"), ChatMessage("assistant", "B"), system("S"), user("C")],
            "<user>S\n\nA</><assistant>B</><user>C</>",
        ),
        ([user("A"), user("B")], "<user>A\n\nB</>"),
        ([system("S")], "<user>S</>"),
    ],
)
def test_a_template_without_a_system_role_gets_it_with_the_first_user_text(
    tmp_path: Path, messages: list[ChatMessage], expected: str
) -> None:
    assert Loaded(tmp_path / "model", STRICT).text(*messages) == expected


def test_a_refusal_carries_the_templates_own_words(tmp_path: Path) -> None:
    loaded = Loaded(tmp_path / "model", "{{ raise_exception('Only on Sundays') }}")
    with pytest.raises(BadRequest, match="Only on Sundays"):
        loaded.text(user("Hi"))


def test_a_second_beginning_of_sequence_is_dropped(tmp_path: Path) -> None:
    loaded = Loaded(tmp_path / "model", "<|endoftext|><|endoftext|>{{ messages[0].content }}")
    loaded.tokenizer.bos_token = "<|endoftext|>"
    assert loaded.text(user("Hi")) == "<|endoftext|>Hi"


def test_thinking_opened_by_the_template_is_noticed(tmp_path: Path) -> None:
    loaded = Loaded(
        tmp_path / "model", "{{ messages[0].content }}{% if enable_thinking %}<think>\n{% endif %}"
    )
    for enabled in (True, False):
        options = TemplateOptions(values={"enable_thinking": enabled})
        assert loaded.template.render([user("Hi <think>")], options).thinking_open is enabled


def test_tools_reach_the_template(pocket: Loaded) -> None:
    tool = {"type": "function", "function": {"name": "ls", "description": "List.", "parameters": {}}}
    prompt = pocket.template.render([user("Hi")], TemplateOptions(tools=[tool]))
    assert "ls() List." in pocket.tokenizer.decode(prompt.ids)


def test_a_final_assistant_message_is_continued_on_request(pocket: Loaded) -> None:
    messages = [user("Say it"), ChatMessage("assistant", "It is")]
    text = pocket.tokenizer.decode(pocket.template.render(messages, TemplateOptions(continue_final=True)).ids)
    assert text.endswith("<|im_start|>assistant\nIt is")


PRIMES_THINKING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking %}<think>\n{% endif %}{% endif %}"
)


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("template", [None, PRIMES_THINKING])
def test_the_next_turn_begins_with_the_prompt_up_to_its_boundary(
    tmp_path: Path, template: str | None, thinking: bool
) -> None:
    loaded = Loaded(tmp_path / "model", template)
    options = TemplateOptions(values={"enable_thinking": thinking})
    messages = [system("Be brief."), user("Repeat: naïve 🙂")]
    for text in ("one", "two", "<think>three"):
        prompt = loaded.template.render(messages, options)
        messages += [ChatMessage("assistant", text), user("Again.")]
        later = loaded.template.render(messages, options)
        assert later.ids[: prompt.boundary] == prompt.ids[: prompt.boundary]
        opened = len(loaded.tokenizer.encode("<think>\n")) if thinking and template else 0
        assert len(prompt.ids) - prompt.boundary == opened


def test_a_boundary_is_probed_once_for_each_way_to_render(
    pocket: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = ChatTemplate(pocket.tokenizer)
    template.render([user("?")], TemplateOptions())
    rendered: list[int] = []
    inner = template._apply  # pyright: ignore[reportPrivateUsage]

    def apply(messages: Any, options: TemplateOptions, arguments_as_text: bool) -> list[int]:
        rendered.append(len(messages))
        return inner(messages, options, arguments_as_text)

    monkeypatch.setattr(template, "_apply", apply)
    for text in ("a", "b"):
        template.render([user(text)], TemplateOptions())
        template.render([user(text)], TemplateOptions(values={"enable_thinking": False}))
    assert rendered == [1, 1, 3, 1, 1]


def test_a_template_that_refuses_a_reply_has_no_boundary(tmp_path: Path) -> None:
    refuses = (
        "{% if messages | length > 1 %}{{ raise_exception('Once only') }}{% endif %}{{ messages[0].content }}"
    )
    assert Loaded(tmp_path / "model", refuses).template.render([user("?")], TemplateOptions()).boundary == 0


def test_thinking_is_closed_in_the_models_own_tokens(pocket: Loaded) -> None:
    tokens = thinking_tokens(MarkupSpec.from_tokenizer(pocket.tokenizer), pocket.tokenizer)
    assert tokens is not None
    assert pocket.tokenizer.decode([tokens.open_id]) == "<think>"
    assert pocket.tokenizer.decode([tokens.close_id]) == "</think>"
    assert pocket.tokenizer.decode(tokens.closing) == "\n</think>\n\n"
    assert tokens.closing.count(tokens.close_id) == 1


def test_thinking_whose_marks_are_several_tokens_cannot_be_closed(pocket: Loaded) -> None:
    assert thinking_tokens(MarkupSpec(think=("<a b>", "</a b>")), pocket.tokenizer) is None
    assert thinking_tokens(MarkupSpec(), pocket.tokenizer) is None
