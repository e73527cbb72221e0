"""A file that is longer than the model's context: the person is told how much of it was given."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from browser.pages import Scripted, answers, ask, drop, new_chat
from support.server import Server


def test_an_answer_says_how_much_of_a_file_the_model_got(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["Birds."])
    new_chat(page, agent)
    for name, content, size in (("birds.txt", b"tern " * 40_000, "kB"), ("short.txt", b"heron", "5 B")):
        drop(page, name, content, "text/plain")
        expect(page.get_by_test_id("upload").filter(has_text=name)).to_contain_text(size)
    ask(page, "What is it about?")
    line = answers(page).first.get_by_text("The model got the first")
    expect(line).to_have_text(
        r"The model got the first 29 % of birds.txt: more does not fit into its context."
    )
    page.reload()
    expect(line).to_be_visible()
