"""Age-weighted look-ahead with promises that bound the longest wait."""
