"""Who is who on the rig: keys, certificates, tokens and the kubeconfigs made of them."""

import base64
import json
import secrets
import subprocess
from pathlib import Path

SERVER_NAMES = "IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]


def openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"openssl {arguments[0]} failed: {done.stderr}")


class Identity:
    """The files in one folder: a CA, the server's certificate, and the key of service accounts."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.admin_token = secrets.token_hex(16)
        self.ca, self.ca_key = self.folder / "ca.crt", self.folder / "ca.key"
        self.server, self.server_key = self.folder / "server.crt", self.folder / "server.key"
        self.accounts = self.folder / "accounts.key"
        self.tokens = self.folder / "tokens.csv"

    def make(self):
        openssl("req", "-x509", *NEW_KEY, "-subj", "/CN=rig", "-keyout", self.ca_key, "-out", self.ca)
        self.sign("/CN=rig-server", self.server, self.server_key, f"subjectAltName={SERVER_NAMES}")
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.accounts)
        self.tokens.write_text(f"{self.admin_token},admin,admin,system:masters\n")
        self.tokens.chmod(0o600)

    def sign(self, subject, certificate, key, *extensions):
        options = [part for text in ("basicConstraints=CA:FALSE", *extensions) for part in ("-addext", text)]
        by = ["-CA", self.ca, "-CAkey", self.ca_key]
        openssl("req", "-x509", *by, *NEW_KEY, "-subj", subject, *options, "-keyout", key, "-out", certificate)

    def client_certificate(self, user, groups=()):
        """(certificate, key) of a user whom the API server knows by the CA."""
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={user}"
        paths = self.folder / f"{user}.crt", self.folder / f"{user}.key"
        self.sign(subject, *paths, "extendedKeyUsage=clientAuth")
        return paths

    def kubeconfig(self, path, server, user):
        """`user`: {"token": …}, or the fields of a client certificate."""
        ca = base64.b64encode(self.ca.read_bytes()).decode()
        cluster = {"server": server}
        if server.startswith("https:"):
            cluster["certificate-authority-data"] = ca
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "rig",
            "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": "rig", "namespace": "default"}}],
            "clusters": [{"name": "rig", "cluster": cluster}],
            "users": [{"name": "rig", "user": user}],
        }
        path = Path(path)
        path.write_text(json.dumps(config, indent=2) + "\n")
        path.chmod(0o600)
        return path
