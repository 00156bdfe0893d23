"""The smallest useful workflow: values in, JSON out."""


def main(name: str = "World", times: int = 1, loud: bool = False) -> dict:
    message = f"Hello, {name}!"
    if loud:
        message = message.upper()
    print(f"Greeting {name} {times} time(s)")
    return {"greeting": {"message": message, "lines": [message] * times}}
