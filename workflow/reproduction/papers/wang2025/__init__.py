"""Wang, Zeng, Li, Huang and Chen, "Numerical Composition for Federated Learning".

Applied Sciences 15(3):1595, 2025, whose title begins "Shuffle Model of Differential Privacy": its
claims. Its figures are in config/wang2025.yaml, and what they draw is in the library.
"""
