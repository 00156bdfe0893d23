import dataclasses
import typing
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0
    labels: tuple[str, ...] = ()


class Named(typing.Protocol):
    name: str


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    pass


def main():
    hints = typing.get_type_hints(Version)
    try:
        Version(1).major = 2
    except dataclasses.FrozenInstanceError as error:
        frozen = str(error)
    return [repr(Version(1)), Version(1) < Version(1, 1), {name: str(hint) for name, hint in hints.items()}, frozen, str(Box[int]), dataclasses.asdict(Version(2))]
