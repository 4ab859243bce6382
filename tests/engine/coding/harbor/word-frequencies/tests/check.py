"""Runs the program as a user would, on a text that nobody has seen."""

import subprocess
import sys

TEXT = "One fish, two fish; red fish -- BLUE fish!\n'Two' said One.\n"
WANTED = ["fish 4", "one 2", "two 2", "blue 1", "red 1", "said 1"]

with open("/tmp/text.txt", "w") as file:
    file.write(TEXT)
done = subprocess.run(
    [sys.executable, "/app/frequencies.py", "/tmp/text.txt"], capture_output=True, text=True, timeout=20
)
print(done.stdout, done.stderr)
sys.exit(0 if done.stdout.splitlines() == WANTED else 1)
