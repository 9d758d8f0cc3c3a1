"""A replica that does as it is told over HTTP, on the port of its task: the tests' stand-in for a program.

GET /tfconfig         its TF_CONFIG
GET /exit?code=N      it ends with this code
"""

import http.server
import os
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        body = os.environ["TF_CONFIG"].encode() if address.path == "/tfconfig" else b"bye"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if address.path == "/exit":
            self.wfile.flush()
            self.connection.shutdown(2)
            os._exit(int(dict(urllib.parse.parse_qsl(address.query))["code"]))


if __name__ == "__main__":
    http.server.HTTPServer(("0.0.0.0", 2222), Handler).serve_forever()
