"""What is free over time: one amount, several amounts, or amounts on nodes."""
