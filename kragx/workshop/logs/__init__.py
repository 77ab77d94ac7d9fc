"""Questions that people asked, from logs: read, masked, folded with their sum, drawn by lot."""

from kragx.workshop.logs.logged import LoggedGold, open_workshop
from kragx.workshop.logs.making import gold_from_logs
from kragx.workshop.logs.masks import Mask, Masker, read_masks

__all__ = ["LoggedGold", "Mask", "Masker", "gold_from_logs", "open_workshop", "read_masks"]
