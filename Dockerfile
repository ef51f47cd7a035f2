# The environment of requirements.txt; the checkout is mounted:
#   docker build --tag shufflebounds .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" shufflebounds --cores 2
FROM python:3.11.13-slim-bookworm

COPY requirements.txt /tmp/requirements.txt
RUN pip install --no-cache-dir --requirement /tmp/requirements.txt

RUN useradd shufflebounds
USER shufflebounds
# Snakemake and Matplotlib write to a home, which whoever --user names does not have.
ENV HOME=/tmp
WORKDIR /work
ENTRYPOINT ["snakemake"]
