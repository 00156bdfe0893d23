import requests


def main():
    prepared = requests.Request("GET", "https://example.org/a b", params={"q": "ü"}).prepare()
    session = requests.Session()
    print(prepared.url, sorted(session.adapters), requests.__version__)
    session.get("http://192.0.2.1/", timeout=1)
