"""From decompositions to (ε, δ): δ at ε, ε at δ, and the inverse questions of a deployment."""
