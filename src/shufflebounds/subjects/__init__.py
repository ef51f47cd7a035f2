"""What users send in a round."""
