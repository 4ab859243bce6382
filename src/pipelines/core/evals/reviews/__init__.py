"""What people are asked to review, and how far they agree."""
