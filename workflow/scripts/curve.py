"""Compute one curve and write it as a table."""

import sys

import job

with job.running(snakemake) as given:
    from shufflebounds.experiments import curve, specification

    wildcards = given.wildcards
    name = curve.Name(wildcards.experiment, wildcards.regime, wildcards.curve)
    wanted = specification.read(given.params.specification)
    computed = curve.compute(name, wanted)
    for sentence in curve.shortfalls(computed):
        print(sentence, file=sys.stderr)
    curve.write(computed, given.output.csv)
