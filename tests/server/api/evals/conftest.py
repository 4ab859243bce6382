"""What tests of the review queue start from."""

from support.review_queue import flagged as flagged
