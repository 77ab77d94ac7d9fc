"""The profiles trec, krag and science-qa against what they reproduce."""
