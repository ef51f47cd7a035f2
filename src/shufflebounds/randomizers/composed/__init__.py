"""Randomizers made of randomizers: joint and parallel composition, Poisson subsampling.

They are randomizers themselves and may be nested. What must be bounded is every pair of inputs,
pairs that differ in a few coordinates only among them. For parts whose blankets are symmetric under
the exchange of x₁⁰ and x₁¹ the worst pair differs in all of them: with x and y the masses that the
other coordinates give the two inputs (y times e^ε), a coordinate with masses a ≥ b on a component
and b, a on its mirror image contributes the values

    x a − y b, x b − y a  where it differs,    x a − y a, x b − y b  where it does not,

over the same c. Either two have the same sum, and the former lie further apart. So a further
coordinate that differs raises the GPARV in convex order, and with it D at every ε and n. That
settles a question which Section 8 of the paper leaves open. It takes parts of which any two inputs
are alike, since the others may share a third value. Of other parts a joint looks at every choice of
two inputs, if they can tell their `choices` (`patterns`), and a parallel composition refuses them.
"""

from shufflebounds.randomizers.composed.joint import Joint, repeated
from shufflebounds.randomizers.composed.parallel import Parallel
from shufflebounds.randomizers.composed.parts import Composition
from shufflebounds.randomizers.composed.subsampled import Subsampled

__all__ = ["Composition", "Joint", "Parallel", "Subsampled", "repeated"]
