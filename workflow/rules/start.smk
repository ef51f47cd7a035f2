"""What happens between the plan of a run and its first job."""


onstart:
    # Snakemake would stop at the first job, with a traceback.
    for folder in ("results", "figures"):
        usable = os.path.isdir(folder) and os.access(folder, os.W_OK)
        if os.path.lexists(folder) and not usable:
            sys.exit(f"{folder} cannot be written to, so nothing was run")
    if workflow.local_exec:
        # Snakemake limits how many jobs start per second, and for that looks through all waiting
        # jobs once a second for each that has ended: a fifth of the CPU time of a whole run. The
        # cores are limit enough here.
        workflow.scheduler.job_rate_limiter = None
