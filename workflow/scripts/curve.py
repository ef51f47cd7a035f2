"""Compute one curve and write it as a table."""

import sys

import job

with job.running(snakemake) as given:
    from shufflebounds.curves import curve, specification, storage

    wildcards = given.wildcards
    name = storage.CurveName(wildcards.experiment, wildcards.regime, wildcards.curve)
    wanted = specification.read(given.params.specification)
    computed = curve.compute(name, wanted)
    if missed := curve.shortfalls(computed):
        print(*missed, sep="\n", file=sys.stderr)
        told = f"{name}: {len(missed)} of {len(computed.points)} points are left empty"
        print(f"{told}; {given.log[0]} says why", file=sys.__stderr__)
    curve.write(computed, given.output.csv)
