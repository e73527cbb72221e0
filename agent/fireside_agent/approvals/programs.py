"""What is known of programs: which run others, which have sub-commands, which options are dangerous.

The tables can never be complete, which is why only programs listed here are ever offered for a rule. A
program is trusted with its own configuration: `git status` runs what the repository's settings name.
"""

import re

from fireside_agent.errors import AgentError


class NotSimpleError(AgentError):
    """A command that no prefix rule can speak for. The text says why, as a clause: "it redirects"."""


RUNNERS = {
    reason: frozenset(names.split())
    for reason, names in {
        "is a word of the shell's own grammar": """
            if then else elif fi for while until do done case esac in select function coproc repeat
            foreach always""",
        "runs or evaluates what it is given, or changes what later names mean": """
            . source eval exec command builtin trap alias unalias enable hash bind complete compgen set
            setopt shopt declare typeset local readonly export let test printf read mapfile readarray
            unset wait getopts jobs fc history emulate autoload zmodload noglob nocorrect""",
        "is a shell": """
            sh ash bash rbash dash zsh ksh mksh pdksh yash fish csh tcsh nu elvish xonsh pwsh busybox
            toybox""",
        "runs the program it is given": """
            env sudo doas su sg newgrp runuser pkexec xargs parallel nohup nice ionice renice timeout
            time setsid stdbuf unbuffer chroot unshare nsenter flock taskset chrt setarch linux prlimit
            numactl script screen tmux watch entr strace ltrace gdb lldb valgrind perf hyperfine at
            batch crontab cron systemd-run systemctl service launchctl osascript open xdg-open
            caffeinate arch faketime fakeroot proxychains torsocks firejail bwrap run-parts
            start-stop-daemon daemonize expect direnv ld split tcpdump ip nmap logrotate rlwrap choom
            uclampset setpriv capsh aa-exec cgexec run0 sudoedit ifne chronic pee parset sem watchexec
            nodemon concurrently foreman chpst tini dumb-init catchsegv eatmydata proot ccache distcc
            sccache xvfb-run dbus-run-session mount rename""",
        "is a compiler that can run programs": """
            cc c++ gcc g++ clang clang++ cpp rustc javac swift swiftc dotnet tcc zig""",
        "is an editor or viewer that can run programs": """
            vi vim nvim view ex ed emacs nano pico less more most man info""",
        "has a language of its own that can run programs or write files": """
            awk gawk mawk nawk sed perl ruby node nodejs php lua luajit tclsh wish rscript julia ghci
            runghc scala groovy jshell java erl elixir octave sqlite psql mysql m bc dc irb ipython
            guile racket sbcl deno bun osacompile""",
        "runs what a build file of the project says": """
            make bmake remake ninja cmake ctest meson scons bazel buck just task rake ant gradle gradlew
            mvn mvnw tup waf invoke""",
        "runs programs of packages or environments": """
            npx bunx pnpx uvx uv pipx poetry pipenv pdm hatch nox tox conda mamba micromamba pre-commit
            nix nix-shell docker podman nerdctl kubectl vagrant apt dpkg brew snap yum dnf rpm pacman
            apk gem bundle rails composer cabal stack mix corepack opam""",
        "sends to or takes from other machines": """
            hg svn jj cvs fossil
            ssh slogin mosh scp sftp rsync rclone curl wget aria nc ncat netcat socat telnet ftp lftp
            http https xh mail mailx sendmail gh glab aws gcloud az""",
        "can run programs while it packs": """
            tar bsdtar zip cpio""",
    }.items()
}

FAMILIES = {
    "git": "status | diff | log | show | blame | branch | describe | grep | ls-files | ls-tree | rev-parse"
    " | shortlog",
    "npm": "test | run ? | ls | outdated",
    "pnpm": "test | run ? | ls | outdated",
    "yarn": "test | run ? | why",
    "cargo": "test | check | build | clippy | fmt | tree",
    "go": "test | vet | build | list | version",
    "pip": "list | show | freeze | check",
    "python": "-m pytest | -m unittest | -m mypy | -m ruff | -m pyright",
    "ruff": "check | format",
}
"""Programs with sub-commands: a rule names one of these in full. `?` is any word but an option."""

LOOKERS = frozenset(
    "ls pwd date wc du df stat file tree which whoami id uname uptime nproc find fd basename dirname realpath"
    " readlink pytest mypy pyright".split()
)
"""Offered by their name alone. Programs that print any file are not: `read` does, inside the workspace."""

_PYTHON_TOOLS = (
    "-p -c -o --basetemp --rootdir --confcutdir --override-ini --config --config-file --import-mode --project"
    " --python --python-executable --pythonpath --venvpath --install-types --output-file --junit-xml"
)

OPTIONS = {
    "find": "-exec -execdir -ok -okdir -delete -fls -fprint -fprint0 -fprintf -files0-from",
    "fd": "-x -X -l --exec --exec-batch --list-details",
    "fdfind": "-x -X -l --exec --exec-batch --list-details",
    "rg": "-z --pre --hostname-bin --search-zip",
    "sort": "-o --output --compress-program",
    "tree": "-o -R --output",
    "file": "-C -f -m --compile --files-from --magic-file",
    "wc": "--files0-from",
    "du": "--files0-from",
    "diff": "-l --paginate",
    "date": "-s -f --set --file",
    "git": "-O --output --open-files-in-pager --ext-diff --no-index --contents",
    "npm": "-C --script-shell --prefix --local-prefix --node-options --userconfig --globalconfig",
    "pnpm": "-C --dir --script-shell --shell-emulator --node-options --config",
    "yarn": "--cwd --script-shell --use-yarnrc --node-options",
    "cargo": "-C -Z --config --manifest-path",
    "go": "-C -exec -toolexec -vettool -o -overlay -modfile -ldflags -gcflags -asmflags -gccgoflags"
    " -compiler",
    "pip": "-i --python --log --index-url --extra-index-url --proxy",
    "python": _PYTHON_TOOLS,
    "pytest": _PYTHON_TOOLS,
    "mypy": _PYTHON_TOOLS,
    "pyright": _PYTHON_TOOLS,
    "ruff": _PYTHON_TOOLS,
}
"""Options that run another program, change things, or print any file where only a name is asked for."""

SYSTEM_FOLDERS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/")

_NAME = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+@:%,-]*")


def check_program(word: str) -> None:
    """Raises NotSimpleError where `word` in the place of the program's name may run something else."""
    if not _NAME.fullmatch(word):
        raise NotSimpleError(f"{word!r} is not the plain name of a program")
    names = _names(word)
    for reason, runners in RUNNERS.items():
        if names & runners:
            raise NotSimpleError(f"{word} {reason}")


def known_prefix(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The words of a rule that the tables offer for this command; None where they offer none.

    Raises:
        NotSimpleError: the program has sub-commands, and this is none that a rule can name.
    """
    for family in sorted(_names(words[0]) & FAMILIES.keys()):
        for sequence in FAMILIES[family].split(" | "):
            length = len(sequence.split())
            if len(words) > length and all(map(_fits, sequence.split(), words[1:])):
                return words[: length + 1] if _is_system(words[0]) else None
        raise NotSimpleError(f"this use of {words[0]} may run other programs or change things")
    return words[:1] if _is_system(words[0]) and words[0].rpartition("/")[2] in LOOKERS else None


def check_options(words: tuple[str, ...]) -> bool:
    """Whether the program has options that a rule never covers.

    Raises:
        NotSimpleError: one of them is among the words, also cut short as GNU's long options may be.
    """
    options = [option for name in _names(words[0]) for option in OPTIONS.get(name, "").split()]
    for word in words[1:]:
        for option in options:
            if _means(word, option):
                raise NotSimpleError(f"{words[0]} {option} runs other programs or changes things")
    return bool(options)


def _fits(pattern: str, word: str) -> bool:
    return word == pattern or (pattern == "?" and not word.startswith("-"))


def _means(word: str, option: str) -> bool:
    head = word.split("=", 1)[0]
    if option.startswith("--"):
        return len(head) > 2 and option.startswith(head)
    if len(option) == 2:
        return word.startswith("-") and not word.startswith("--") and option[1] in word
    return head.startswith("-") and head.lstrip("-") == option[1:]


def _is_system(word: str) -> bool:
    """Whether the name is looked up in PATH or lies where programs are installed, not in some project."""
    return "/" not in word or (word.startswith(SYSTEM_FOLDERS) and ".." not in word)


def _names(word: str) -> set[str]:
    """The names a program goes by: `/usr/bin/Python3.11` is python, `gtimeout` is GNU's timeout.

    Case is folded, because ENV runs env where the file system ignores case.
    """
    name = word.rpartition("/")[2].casefold()
    names = {name, name.split(".")[0] or name, name.split("-")[0] or name}
    names |= {re.sub(r"[-.\d]+$", "", each) or each for each in names}
    return names | {each.removeprefix("g") for each in names if len(each) > 2}
