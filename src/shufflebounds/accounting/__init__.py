"""What is asked of shuffled reports: privacy profiles, many rounds, risk, other accountants."""
