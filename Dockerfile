# Hedera's harness in an image. In virtual time its containers need no privileges: docker build -t hedera . && docker run --rm -it hedera
# Real time, and what of this was tried: docs/container.md.
FROM debian:trixie-slim

# Whose linux-source becomes the kernel of virtual time; where that cannot be had, this Debian's own, which is slower.
ARG KERNEL_SUITE=sid

COPY setup/apt-packages.txt /tmp/apt-packages.txt
# Any version of trixie will do: Python packages, on which results depend, are pinned in setup/requirements.lock.
# hadolint ignore=DL3008
RUN apt-get update \
    && xargs --arg-file /tmp/apt-packages.txt apt-get install -y --no-install-recommends \
        bc bison ca-certificates flex gcc libc6-dev make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 student \
    && install --directory --owner student --group student /home/student/hedera
COPY --chown=student:student . /home/student/hedera
USER 1000
WORKDIR /home/student/hedera
# User-Mode Linux is there for x86 alone: elsewhere the image has no virtual time.
RUN setup/install.sh \
    && if [ "$(uname -m)" = x86_64 ]; then \
        .venv/bin/hedera kernel build --apt-suite "$KERNEL_SUITE" || .venv/bin/hedera kernel build; \
    fi
ENV PATH=/home/student/hedera/.venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["./test.sh", "--demo"]
