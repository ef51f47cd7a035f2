"""Privacy profiles: δ(ε) as a certified falling curve, and everything that is made of such curves."""
