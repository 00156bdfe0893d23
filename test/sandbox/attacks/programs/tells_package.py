"""Hands its input to a package that it trusts, and shows what the package knows by then."""

import evil

from siege import INPUTS, finish, got

for each in evil.recall():
    if each and each != INPUTS["text"]:
        got("an earlier input", each)
evil.remember(INPUTS["text"])
finish()
