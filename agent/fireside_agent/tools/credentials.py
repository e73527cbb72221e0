"""Names of files that hold secrets. No tool reads, changes or searches them, wherever they lie.

Judged by name alone: a secret under another name is not recognised, and a harmless file with such a name
is blocked as well. That error costs a question to the person; the other one may cost a key.
"""

import re
import unicodedata

# Each part between slashes matches whole names, `*` any part of one, and whatever lies below is blocked too.
SECRETS: dict[str, tuple[str, ...]] = {
    "settings of an environment, which usually hold keys": (".env*",),
    "a private key or certificate": (
        *("*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore"),
        *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".ssh", ".gnupg"),
    ),
    "credentials of a cloud or cluster": (
        *(".aws", ".azure", ".kube", ".config/gcloud", ".boto", ".s3cfg", ".vault-token"),
        *(".docker/config.json", ".terraform.d/credentials*", "service-account*.json"),
    ),
    "credentials of a package registry, a code host or a server": (
        *(".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub"),
        *(".npmrc", ".pypirc", ".cargo/credentials*", ".gem/credentials", ".config/pip/pip.conf"),
        *("huggingface/token", "huggingface/stored_tokens", ".huggingface"),
        *(".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd"),
    ),
    "a store of passwords": (
        *("library/keychains", "*.keychain", "*.keychain-db", ".local/share/keyrings", ".password-store"),
        *("*.kdbx", "*.agilekeychain", "*.opvault"),
    ),
    "a browser's profile, with its cookies and passwords": (
        *(".mozilla", ".config/google-chrome*", ".config/chromium", ".config/bravesoftware"),
        *(".config/microsoft-edge*", ".config/vivaldi*", ".config/opera*", "snap/firefox", "snap/chromium"),
        *("library/application support/google/chrome*", "library/application support/firefox"),
        *("library/application support/bravesoftware", "library/application support/microsoft edge*"),
        *("library/application support/arc", "library/safari", "library/cookies", "*.binarycookies"),
        *("cookies.sqlite*", "key4.db", "logins.json"),
    ),
    "Fireside's own data": ("fireside.db*",),
    # Who may write it decides which programs Fireside starts.
    "the set-up of tool servers, with their keys": ("mcp.json",),
}


def _pattern(names: tuple[str, ...]) -> str:
    return "|".join(re.escape(name).replace(r"\*", "[^/]*") for name in names)


_REASONS = tuple(SECRETS)
_MATCHER = re.compile(
    "(?:^|/)(?:"
    + "|".join(f"(?P<reason{number}>{_pattern(names)})" for number, names in enumerate(SECRETS.values()))
    + ")(?=/|$)"
)


def secret_kind(path: str) -> str | None:
    """What kind of secrets a path leads to, by its name; None where it does not look like any.

    Case, compatibility forms and invisible characters do not matter, as there are file systems that
    ignore them.
    """
    plain = unicodedata.normalize("NFKC", path).casefold()
    if not plain.isascii():
        plain = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
    found = _MATCHER.search(plain)
    if found is None or found.lastgroup is None:
        return None
    return _REASONS[int(found.lastgroup.removeprefix("reason"))]
