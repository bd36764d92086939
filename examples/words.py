"""A program to be run by `lineprofiler run`: counts the words of its arguments."""

import sys


def normalise(word):
    return word.strip(".,!?").lower()


def count(text):
    found = {}
    for word in text.split():
        word = normalise(word)
        found[word] = found.get(word, 0) + 1
    return found


def main(arguments):
    counted = count(" ".join(arguments) * 500)
    print(sorted(counted.items())[:3])
    return 0 if counted else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
