# SPDX-License-Identifier: BSD-3-Clause
"""A NATS operator with one account and its users, as `nsc` makes them: keys are Ed25519, by openssl."""

import base64
import binascii
import hashlib
import json
import subprocess

# Of a key's text, by its first letter.
PREFIXES = {"O": 14 << 3, "A": 0, "U": 20 << 3}
SEED = 18 << 3
DER = bytes.fromhex("302e020100300506032b657004220420")  # what stands before the 32 bytes of a private key


def _text(data):
    return base64.b32encode(data + binascii.crc_hqx(data, 0).to_bytes(2, "little")).decode().rstrip("=")


def _base64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Key:
    """The same for the same name."""

    def __init__(self, space, letter, name):
        secret = hashlib.sha256(f"{letter} {name}".encode()).digest()
        self.path = space.path / f"{letter}-{name}.der"
        self.path.write_bytes(DER + secret)
        public = subprocess.run(["openssl", "pkey", "-inform", "DER", "-in", self.path, "-pubout", "-outform", "DER"],
                                capture_output=True, check=True).stdout[-32:]
        kind = PREFIXES[letter]
        self.public = _text(bytes([kind]) + public)
        self.seed = _text(bytes([SEED | kind >> 5, (kind & 31) << 3]) + secret)

    def sign(self, data):
        path = self.path.with_suffix(".data")
        path.write_bytes(data)
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", self.path, "-in", path],
                              capture_output=True, check=True).stdout

    def token(self, about, nats):
        """What this key says about another one."""
        claims = {"jti": about.public, "iat": 1, "iss": self.public, "sub": about.public, "name": about.path.stem,
                  "nats": {"version": 2, **nats}}
        text = ".".join(_base64(json.dumps(part).encode()) for part in ({"typ": "JWT", "alg": "ed25519-nkey"}, claims))
        return f"{text}.{_base64(self.sign(text.encode()))}"


class Operator:
    """`config` is a server's, `file` that of a user's credentials."""

    def __init__(self, space):
        self.space = space
        operator, self.account = Key(space, "O", "site"), Key(space, "A", "forecast")
        unlimited = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1)
        account = operator.token(self.account, {"type": "account", "limits": {**unlimited, "wildcards": True}})
        self.config = space.path / "operator.conf"
        self.config.write_text(f"operator: {operator.token(operator, {'type': 'operator'})}\n"
                               f"resolver: MEMORY\nresolver_preload: {{ {self.account.public}: {account} }}\n")

    def user(self, name, signer=None):
        """(key, token); signed by the account unless told otherwise."""
        key = Key(self.space, "U", name)
        return key, (signer or self.account).token(key, {"type": "user", "subs": -1, "data": -1, "payload": -1})

    def file(self, name, signer=None):
        key, token = self.user(name, signer)
        path = self.space.path / f"{name}.creds"
        path.write_text(f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
                        f"-----BEGIN USER NKEY SEED-----\n{key.seed}\n------END USER NKEY SEED------\n")
        return path

    def answer(self, name):
        """What nats_reader.Client adds to its CONNECT, from the server's nonce."""
        key, token = self.user(name)
        return lambda nonce: {"jwt": token, "sig": _base64(key.sign(nonce.encode()))}
