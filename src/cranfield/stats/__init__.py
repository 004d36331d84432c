"""Numerics without a word of retrieval in them."""
