"""Compute one curve and write it as a table."""

import job

with job.running(snakemake) as given:
    from shufflebounds.experiments import curve, specification

    wildcards = given.wildcards
    name = curve.Name(wildcards.experiment, wildcards.regime, wildcards.curve)
    wanted = specification.read(given.params.specification)
    curve.write(curve.compute(name, wanted), given.output.csv)
