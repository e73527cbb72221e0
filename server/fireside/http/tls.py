"""The certificate of `--tls-cert` and `--tls-key`."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path


class BadCertificate(Exception):
    """Nothing can be served with these files; the message names the wrong one."""


@dataclass(frozen=True)
class Certificate:
    """A certificate with its chain, and its key, both PEM."""

    chain: Path
    key: Path

    def check(self) -> None:
        """Make sure that connections can be served with it.

        Raises:
            BadCertificate: a file cannot be read or is none of its kind, or they do not belong together.
        """
        for flag, path in (("--tls-cert", self.chain), ("--tls-key", self.key)):
            try:
                path.read_bytes()
            except OSError as error:
                raise BadCertificate(f"Cannot read {flag} {path}: {error.strerror or error}") from error
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.chain, self.key, _no_password)
        except (ssl.SSLError, ValueError) as error:
            raise BadCertificate(self._reason(error)) from error

    def _reason(self, error: ssl.SSLError | ValueError) -> str:
        if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
            return f"--tls-key {self.key} is not the key of the certificate in --tls-cert {self.chain}."
        if not _is_certificate(self.chain):
            return f"There is no PEM certificate in --tls-cert {self.chain}."
        if b"ENCRYPTED" in self.key.read_bytes():
            return f"--tls-key {self.key} needs a password; take it off with: openssl pkey -in … -out …"
        if isinstance(error, ssl.SSLError) and error.reason and "KEY_TOO_SMALL" in error.reason:
            return f"The key of --tls-cert {self.chain} is too small to be safe."
        return f"There is no PEM key in --tls-key {self.key} that fits --tls-cert {self.chain}."


def _is_certificate(path: Path) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        return False
    return True


def _no_password() -> bytes:
    """Instead of a question in the terminal."""
    return b""
