"""Privacy profiles: δ(ε) as a certified falling curve, and all that such curves make up."""
