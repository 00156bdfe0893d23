import http.server
import threading
import urllib.request


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello " + self.path.encode())

    def log_message(self, *arguments):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 8123), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return urllib.request.urlopen("http://127.0.0.1:8123/there", timeout=5).read().decode()
