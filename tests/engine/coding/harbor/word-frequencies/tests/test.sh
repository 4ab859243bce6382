#!/bin/bash
# Called in the folder the agent worked in; the reward counts, not how this ends.
python3 /tests/check.py
if [ $? -eq 0 ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
