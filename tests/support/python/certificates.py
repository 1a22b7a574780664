# SPDX-License-Identifier: Apache-2.0
"""Certificates for a test, made with the openssl program."""

import pathlib
import subprocess


class Certificates:
    """An authority, and what it signs, as files of a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.authority = self._make("authority", [])

    def sign(self, name, alternative_names="", days=1):
        """Paths of the certificate and the key."""
        more = ["-CA", self.folder / "authority.pem", "-CAkey", self.folder / "authority.key"]
        if alternative_names:
            more += ["-addext", f"subjectAltName={alternative_names}"]
        return self._make(name, more, days)

    def _make(self, name, more, days=1):
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", str(days), "-subj", f"/CN={name}", "-keyout", key, "-out", certificate,
             *more], check=True, capture_output=True)
        return str(certificate), str(key)
