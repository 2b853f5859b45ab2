# Hedera's harness in an image. In virtual time its containers need no privileges: docker build -t hedera . && docker run --rm -it hedera
# Real time, and what of this was tried: docs/container.md.
FROM debian:trixie-slim

COPY setup/apt-packages.txt /tmp/apt-packages.txt
# Any version of trixie will do: Python packages, on which results depend, are pinned in setup/requirements.lock.
# hadolint ignore=DL3008
RUN apt-get update \
    && xargs --arg-file /tmp/apt-packages.txt apt-get install -y --no-install-recommends \
        ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 student \
    && install --directory --owner student --group student /home/student/hedera
COPY --chown=student:student . /home/student/hedera
USER 1000
WORKDIR /home/student/hedera
RUN setup/install.sh
ENV PATH=/home/student/hedera/.venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["./test.sh", "--demo"]
