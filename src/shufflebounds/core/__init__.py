"""What every bound is made of: decompositions, enclosures, and checks of arguments."""
