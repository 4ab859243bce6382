#!/bin/bash
set -e
cp /solution/frequencies.py /app/frequencies.py
