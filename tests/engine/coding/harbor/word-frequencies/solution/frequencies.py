import string
import sys
from collections import Counter


def frequencies(text):
    words = (word.strip(string.punctuation).lower() for word in text.split())
    counted = Counter(word for word in words if word)
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        for word, count in frequencies(file.read()):
            print(word, count)
