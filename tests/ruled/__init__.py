"""Random decisions under rules of a site, and of schedule-or-postpone, against independent models."""
