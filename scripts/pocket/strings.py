"""Random strings to copy: words, numbers, code, paths, commands, emoji, foreign scripts.

Invented words are split by a hash: one in eight is held out. Training never sees a held-out word and
evaluation invents no other, so that a model which scores there copies instead of remembering.
"""

from __future__ import annotations

import random
import re
import string
import zlib
from collections import deque
from collections.abc import Callable, Sequence

from pocket.words import ADJECTIVES, ENGLISH, NAMES, NOUNS, PLACES, SENTENCES, VERBS

_ONSETS = "b c d f g h j k l m n p qu r s t v w x y z br ch cl dr fl gr pl pr sh sk sl sp st th tr".split()
_NUCLEI = "a e i o u a e i o u ai ea ee ie oo ou".split()
_CODAS = ["", "", "", *"b d g k l m n p r s t x ck ll nd ng nt rd rk sh st".split()]

_GAP = re.compile(r"\{(\w+)\}")
_EMOJI = "🙂 😀 😂 🚀 🎉 🔥 ❤️ 👍 🙏 🌍 🐍 🐛 ✅ ❌ ⚠️ 📦 🔒 💡 🧪 👩‍💻 🇫🇷 ☕ 🍕 🌧️ 🎈".split()
_SYMBOLS = list("!#$%&()*+,-./:;<=>?@[]^_{|}~€£§°→±×÷…–—«»")
_EMOJI_BLOCKS = (
    (0x1F300, 0x1F5FF),
    (0x1F600, 0x1F64F),
    (0x1F680, 0x1F6FF),
    (0x1F900, 0x1FAFF),
    (0x2600, 0x27BF),
)
_SCRIPTS = (
    (0x0410, 0x044F),
    (0x0391, 0x03C9),
    (0x4E00, 0x9FFF),
    (0x4E00, 0x9FFF),
    (0x3041, 0x30FF),
    (0xAC00, 0xD7A3),
    (0x0627, 0x064A),
    (0x05D0, 0x05EA),
    (0x0905, 0x0939),
    (0x0E01, 0x0E2E),
    (0x00C0, 0x00FF),
    (0x0100, 0x024F),
    (0x1E00, 0x1EFF),
    (0x10D0, 0x10FA),
    (0x0531, 0x0556),
)
_SUFFIXES = ".md .md .txt .txt .py .py .json .csv .log .toml .yaml .html .js .css .sh .sql .xml .cfg".split()
_ROOTS = ["", "", "", "", *"./ ../ ~/ / /tmp/ /home/ /etc/ /var/log/ src/ docs/ tests/ notes/ data/".split()]


class Strings:
    """Draws strings from `rng`, with held-out invented words or with all the others."""

    def __init__(self, rng: random.Random, *, held_out: bool = False) -> None:
        self.rng = rng
        self._held_out = held_out
        self._recent: deque[str] = deque(maxlen=6)

    def pick(self, options: Sequence[str]) -> str:
        return options[int(self.rng.random() * len(options))]

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self.rng.random() * (high - low + 1))

    def invented(self) -> str:
        """A word that no dictionary has, of three letters or more."""
        pick = self.pick
        while True:
            roll = self.rng.random()
            if roll < 0.12:
                word = "".join(self.rng.choices(string.ascii_lowercase, k=self.between(3, 9)))
            elif roll < 0.35:
                # Parts of real words in new company: every token of the vocabulary must be copied as such,
                # also those that otherwise come in one word only.
                first, second = pick(ENGLISH), pick(ENGLISH)
                word = first[: self.between(1, len(first))] + second[self.between(0, len(second) - 1) :]
            else:
                syllables = self.between(1, 3)
                word = "".join(pick(_ONSETS) + pick(_NUCLEI) + pick(_CODAS) for _ in range(syllables))
            if len(word) >= 3 and is_held_out(word) == self._held_out:
                return word

    def word(self) -> str:
        """An invented or, less often, an English word in lower case; now and then one of the last few again.

        A text in which a word comes twice can only be copied by one who knows where in it he is.
        """
        if self._recent and self.chance(0.08):
            return self._recent[self.between(0, len(self._recent) - 1)]
        self._recent.append(word := self._new_word())
        return word

    def _new_word(self) -> str:
        roll = self.rng.random()
        if roll < 0.6 or self._held_out:
            return self.invented()
        return self.pick(NOUNS if roll < 0.75 else ENGLISH)

    def digits(self) -> str:
        length = self.between(1, 4) if self.chance(0.7) else self.between(5, 12)
        return "".join(self.rng.choices(string.digits, k=length))

    def number(self) -> str:
        roll = self.rng.random()
        if roll < 0.7:
            return str(int(self.digits()))
        if roll < 0.85:
            return f"{self.between(0, 999)}.{self.between(0, 99)}"
        return self.pick(("-{}", "{}%", "${}", "{} km", "#{}", "v{}.0", "{}:30")).format(self.between(0, 99))

    def code_word(self) -> str:
        """An identifier, hexadecimal or mixed string such as programs are full of."""
        roll = self.rng.random()
        if roll < 0.25:
            return "".join(self.rng.choices(string.hexdigits.lower(), k=self.between(6, 16)))
        if roll < 0.5:
            alphabet = string.ascii_letters + string.digits
            return "".join(self.rng.choices(alphabet, k=self.between(4, 12)))
        parts = [self.word() for _ in range(self.between(2, 3))]
        if roll < 0.7:
            return "_".join(parts)
        if roll < 0.8:
            return "-".join(parts)
        if roll < 0.9:
            return parts[0] + "".join(part.capitalize() for part in parts[1:])
        return ".".join(parts) + self.pick(("", "()", "[0]", "(x)"))

    def foreign(self) -> str:
        """A word in another script, or a Latin one with accents."""
        low, high = _SCRIPTS[self.between(0, len(_SCRIPTS) - 1)]
        letters = [chr(self.between(low, high)) for _ in range(self.between(1, 6))]
        if low < 0x0250 or self.chance(0.1):
            letters = [letter if self.chance(0.4) else self.pick(string.ascii_letters) for letter in letters]
        if self.chance(0.05):
            letters[0] += chr(self.between(0x0300, 0x0345))
        return "".join(letters)

    def emoji(self) -> str:
        """A common emoji, any other, or several joined into one."""
        roll = self.rng.random()
        if roll < 0.3:
            return self.pick(_EMOJI)
        low, high = _EMOJI_BLOCKS[self.between(0, len(_EMOJI_BLOCKS) - 1)]
        if roll < 0.85:
            return chr(self.between(low, high)) + ("\ufe0f" if self.chance(0.15) else "")
        if roll < 0.9:
            return chr(self.between(0x1F1E6, 0x1F1FF)) + chr(self.between(0x1F1E6, 0x1F1FF))
        if roll < 0.95:
            return chr(self.between(0x1F440, 0x1F480)) + chr(self.between(0x1F3FB, 0x1F3FF))
        return "\u200d".join(chr(self.between(0x1F466, 0x1F469)) for _ in range(self.between(2, 4)))

    def token(self) -> str:
        """One item of a phrase: mostly a word."""
        roll = self.rng.random()
        if roll < 0.66:
            return self.word()
        if roll < 0.76:
            return self.word().capitalize()
        if roll < 0.78:
            return self.word().upper()
        if roll < 0.86:
            return self.number()
        if roll < 0.92:
            return self.code_word()
        if roll < 0.95:
            return self.emoji()
        if roll < 0.98:
            return self.foreign()
        return self.pick(_SYMBOLS)

    def fill(self, sentence: str) -> str:
        """The sentence with its named gaps filled, each with something new."""
        draws: dict[str, Callable[[], str]] = {
            "noun": lambda: self.pick(NOUNS),
            "verb": lambda: self.pick(VERBS),
            "adjective": lambda: self.pick(ADJECTIVES),
            "word": self.word,
            "Word": lambda: self.word().capitalize(),
            "topic": self.topic,
            "phrase": lambda: self.phrase(1, 5),
            "number": lambda: str(self.between(1, 999)),
            "name": lambda: self.pick(NAMES),
            "place": lambda: self.pick(PLACES),
            "path": self.path,
            "url": self.url,
        }
        return _GAP.sub(lambda gap: draws[gap[1]](), sentence)

    def phrase(self, low: int = 1, high: int = 8) -> str:
        """`low` to `high` items with spaces, now and then punctuation, between; no quotes, no line break."""
        items = [self.token() for _ in range(self.between(low, high))]
        if len(items) > 2 and self.chance(0.2):
            items[self.between(0, len(items) - 2)] += self.pick((",", ";", ":", " -", "."))
        return " ".join(items)

    def topic(self) -> str:
        """What people look up: one to six plain words."""
        items = [self.word() if self.chance(0.85) else self.token() for _ in range(self.between(1, 6))]
        return " ".join(items)

    def line(self) -> str:
        """A line of text, code or data, quotes included."""
        roll = self.rng.random()
        if roll < 0.4:
            return self.phrase(1, 9)
        if roll < 0.6:
            return self.sentence()
        if roll < 0.8:
            return self.code_line()
        return self.data_line()

    def sentence(self) -> str:
        """English in shape, if not in sense."""
        if self.chance(0.12):
            return self.phrase(4, 12).capitalize() + "."
        return self.fill(self.pick(SENTENCES)) + self.pick((".", ".", ".", "!", "?"))

    def paragraph(self, sentences: int) -> str:
        return " ".join(self.sentence() for _ in range(sentences))

    def code_line(self) -> str:
        name, other = self.code_word(), self.word()
        return self.pick(
            (
                "{n} = {k}",
                'print("{o}")',
                "def {o}({n}):",
                "    return {n} + {k}",
                "if {o} == '{n}':",
                "import {o}",
                'const {o} = "{n}";',
                "for {o} in range({k}):",
                "# {o} {n}",
                "{o}: {k}",
                "<{o}>{n}</{o}>",
                "SELECT {o} FROM {n} WHERE id = {k};",
                "- [{o}]({n})",
                "## {o} {n}",
                "{o}({k}, '{n}')",
                "\t{o} += {k}",
            )
        ).format(n=name, o=other, k=self.between(0, 999))

    def data_line(self) -> str:
        a, b, k = self.word(), self.word(), self.number()
        return self.pick(
            (
                '{{"{a}": "{b}", "n": {i}}}',
                "{a},{b},{k}",
                "{a}={b}",
                "{d} {a} {b}",
                "{a}@{b}.example",
                "| {a} | {k} |",
                "{i}: {a} {b}",
                "{i}\t{a} {b}",
                "[{a}] {b} {k}",
                "-rw-r--r-- 1 {a} {b} {i} {d} {b}.txt",
                "{a} -> {b}",
                '"{a}" and "{b}"',
                "* {a}: {b}",
                "total {i}",
                "{a}:{i}:{b} {k}",
                "{b}\\{a}",
            )
        ).format(a=a, b=b, k=k, i=self.between(0, 9999), d=self.date())

    def date(self) -> str:
        return f"{self.between(1970, 2049)}-{self.between(1, 12):02}-{self.between(1, 28):02}"

    def lines(self, count: int) -> str:
        return "\n".join(self.line() for _ in range(count))

    def file_name(self) -> str:
        stem = self.code_word() if self.chance(0.2) else self.word()
        if self.chance(0.1):
            stem += self.pick(("-", "_")) + str(self.between(0, 2030))
        return stem + self.pick(_SUFFIXES)

    def folder(self) -> str:
        root = self.pick(_ROOTS)
        parts = [self.word() for _ in range(self.between(1, 3))]
        if self.chance(0.12):
            parts[0] = f"{parts[0]}-{self.pick(('of', 'for', 'run'))}-{self.word()}"
            parts.append(f"{self.word()}-{self.between(0, 99)}")
        return root + "/".join(parts) + ("/" if self.chance(0.25) else "")

    def path(self) -> str:
        if self.chance(0.4):
            return self.pick(_ROOTS) + self.file_name()
        return self.folder().rstrip("/") + "/" + self.file_name()

    def url(self) -> str:
        host = self.pick(
            ("{}.example", "www.{}.example", "{}.example.com", "{}.test", "localhost:8080/{}")
        ).format(self.word())
        rest = "/".join(self.word() for _ in range(self.between(0, 3)))
        query = f"?{self.word()}={self.number()}" if self.chance(0.2) else ""
        return f"{self.pick(('https', 'https', 'http'))}://{host}/{rest}{query}"

    def pattern(self) -> str:
        """What `grep` looks for."""
        if self.chance(0.6):
            return self.word() if self.chance(0.7) else self.phrase(2, 3)
        word = self.word()
        return self.pick(("^{}", "{}$", "{}.*", "def {}", "{}\\(", "[a-z]+{}", "NOTE {}", "{}|x")).format(
            word
        )

    def glob(self) -> str:
        word = self.word()
        return self.pick(("*.{}", "{}*", "*{}*", "**/{}.py", "{}.md", "*.py", "test_{}*", "{}?.txt")).format(
            word
        )

    def article(self) -> str:
        """A memory article's name."""
        return self.pick(("{}", "{}-{}", "{}.md", "{} {}", "people/{}", "projects/{}-{}")).format(
            self.word(), self.word()
        )

    def command(self) -> str:
        """A line for a shell; quotes and pipes included, backticks not."""
        return self.pick(
            (
                "ls -la {p}",
                "cat {p}",
                "grep -n {w} {p}",
                "echo {f}",
                'echo "{f}"',
                "wc -l {p}",
                "rm {p}",
                "git log -{n}",
                "python {p}",
                "mkdir -p {d}",
                "find . -name '{w}*'",
                "curl {u}",
                "date",
                "{w} --{v} {n}",
                "{w}",
                "pwd",
                "ls",
                "git commit -m '{f}'",
                "cat {p} | grep {w}",
                "cd {d} && make {w}",
                "sort {p} | uniq -c | head -{n}",
                "sleep {n}",
                "docker run --rm {w}:{n}",
                "tar -xzf {w}.tar.gz -C {d}",
                "npm run {w}",
                "pip install {w}=={n}.0",
                "printf '%s\\n' {w}",
                'python -c "print({n} * {n})"',
                "export {v}={w}; ./{w}.sh > {p}",
                "echo {w}",
                "{f}",
                "seq 1 {n}",
                "for i in 1 2 3; do echo {w}$i; done",
                "echo $(({n}+{n}))",
                "touch {p}",
            )
        ).format(
            p=self.path(),
            d=self.folder(),
            w=self.word(),
            v=self.word(),
            u=self.url(),
            f=self.phrase(1, 5),
            n=self.between(1, 99),
        )

    def distinct(self, draw: Callable[[], str], count: int) -> list[str]:
        """`count` different strings that `draw` gives."""
        found: dict[str, None] = {}
        while len(found) < count:
            found[draw()] = None
        return list(found)


def is_held_out(word: str) -> bool:
    """Whether an invented word belongs to evaluation."""
    return zlib.crc32(word.encode()) % 8 == 0
