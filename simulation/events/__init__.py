"""What happens when: the calendar, and who goes through it, step by step or in compiled code."""
