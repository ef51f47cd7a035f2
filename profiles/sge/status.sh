# What Grid Engine says of a job, in the words that Snakemake asks for.
if qstat -j "$1" > /dev/null 2>&1; then
    echo running
    exit
fi
# It has left the queue; the accounting may be a moment late.
for _ in 1 2 3 4 5 6; do
    if record=$(qacct -j "$1" 2> /dev/null); then
        case "$record" in
            # Of a job that was killed, failed is not 0, and the status may be.
            *"failed       0"*"exit_status  0"*) echo success ;;
            *) echo failed ;;
        esac
        exit
    fi
    sleep 5
done
echo failed
