"""What bench/model_quality.py asks a model for each purpose. Each module draws its cases from the newest
blind set, has them answered through the product, and says of each answer whether it is right.

Enter by `purposes.py`.
"""
