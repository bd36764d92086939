"""Shell patterns as ``fnmatch`` has them: ``*`` any run of characters (also ``/``), ``?`` one, ``[abc]``, ``[!a-z]``.

Our own matcher, because ``fnmatch`` would load ``re`` and what that needs into the program that is being looked at.
"""
# SPDX-License-Identifier: MIT


def matches(name: str, pattern: str) -> bool:
    """Whether the whole of `name` is what `pattern` describes.  Takes at most name times pattern steps."""
    at = wanted = 0
    star, resume = -1, 0  # where the last * stands, and how much of the name it has been given
    while at < len(name):
        step = _one(name[at], pattern, wanted)
        if step:
            at += 1
            wanted = step
        elif pattern[wanted : wanted + 1] == "*":
            star, resume = wanted, at
            wanted += 1
        elif star >= 0:
            resume += 1
            at, wanted = resume, star + 1
        else:
            return False
    return not pattern[wanted:].strip("*")


def first_match(name: str, patterns: "tuple[str, ...]") -> "str | None":
    """The first of `patterns` that describes `name`."""
    for pattern in patterns:
        if matches(name, pattern):
            return pattern
    return None


def _one(char: str, pattern: str, at: int) -> int:
    """Where the pattern goes on when its part at `at` takes `char`; 0 when it does not, or is a star."""
    part = pattern[at : at + 1]
    if part == "*" or not part:
        return 0
    if part == "[":
        end = pattern.find("]", at + 3 if pattern[at + 1 : at + 2] == "!" else at + 2)
        if end > 0:
            return end + 1 if _in_set(char, pattern[at + 1 : end]) else 0
    return at + 1 if part in ("?", char) else 0


def _in_set(char: str, members: str) -> bool:
    if members[0] == "!":
        return not _listed(char, members[1:])
    return _listed(char, members)


def _listed(char: str, members: str) -> bool:
    at = 0
    while at < len(members):
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            if members[at] <= char <= members[at + 2]:
                return True
            at += 3
        else:
            if members[at] == char:
                return True
            at += 1
    return False
