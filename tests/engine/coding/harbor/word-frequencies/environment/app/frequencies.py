import sys
from collections import Counter


def frequencies(text):
    counted = Counter(text.split())
    return sorted(counted.items(), key=lambda pair: -pair[1])


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        for word, count in frequencies(file.read()):
            print(word, count)
