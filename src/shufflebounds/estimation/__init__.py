"""What one does with reports: random reports, estimates, and their errors."""
