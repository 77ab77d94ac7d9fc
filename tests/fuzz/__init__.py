"""Inputs that nobody means, through the command: each ends in a typed message or a right result.

A kind is a function that makes input number n from ``Random(f"{kind}:{n}")`` alone, so that a
failure is made again by its name: ``python -m tests.fuzz json 1234``. See tests/README.md.
"""
