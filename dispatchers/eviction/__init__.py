"""Evict batch jobs for on-demand jobs (Maurya et al., DS-RT 2020)."""

from .evict import Evict
from .evict_options import EvictOptions

__all__ = ["Evict", "EvictOptions"]
