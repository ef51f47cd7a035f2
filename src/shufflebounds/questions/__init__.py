"""The questions that users ask of what is sent."""
