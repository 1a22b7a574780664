# SPDX-License-Identifier: Apache-2.0
#
# Images of voxlocd and the command line voxloc, without compilers, headers and tests.
#
#   docker build -t voxloc .                             the CPU engine, on Debian 12
#   docker build --target gpu -t voxloc:gpu .            with the CUDA engine, on NVIDIA's runtime image
#
#   docker run --rm --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#     -p 127.0.0.1:50051:50051 -p 127.0.0.1:9464:9464 -v voxloc-data:/var/lib/voxloc voxloc
#
# For the GPU image add --gpus all, which needs NVIDIA's driver and container toolkit on the host. The
# configuration is deploy/voxlocd.basic.yaml; mount another one at /etc/voxloc/voxlocd.yaml. Only the
# stages of the target are built. `scripts/build-image` builds without a container engine.

ARG CPU_BASE=docker.io/library/debian:12-slim
ARG CUDA_BUILD_BASE=docker.io/nvidia/cuda:13.0.1-devel-ubuntu24.04
# The runtime image has cuSOLVER, which the engine loads where it is there.
ARG CUDA_BASE=docker.io/nvidia/cuda:13.0.1-runtime-ubuntu24.04

# --- the programs, with the CPU engine alone ---

FROM ${CPU_BASE} AS build
WORKDIR /src
# By themselves first: the packages are installed again only when this script changes.
COPY scripts/install-dependencies scripts/
RUN scripts/install-dependencies --no-tests
COPY . .
RUN --mount=type=cache,target=/root/.cache/ccache \
    cmake --preset release -DVOXLOC_BUILD_TESTS=OFF -DVOXLOC_CUDA=OFF \
    && cmake --build --preset release --target voxlocd voxloc \
    && install -D --strip --target-directory=/out/bin build/release/bin/voxlocd build/release/bin/voxloc
RUN scripts/runtime-packages /out/bin/* > /out/runtime-packages.txt

# --- the same with the CUDA engine, and the shared libraries beside them ---

FROM ${CUDA_BUILD_BASE} AS build-gpu
WORKDIR /src
COPY scripts/install-dependencies scripts/
RUN scripts/install-dependencies --no-tests
COPY . .
RUN --mount=type=cache,target=/root/.cache/ccache scripts/package --cuda --output /out \
    && mkdir /opt/voxloc \
    && tar -xzf /out/voxloc-*.tar.gz -C /opt/voxloc --strip-components=1

# --- the image with the CUDA engine ---

FROM ${CUDA_BASE} AS gpu
COPY --from=build-gpu /opt/voxloc/ /opt/voxloc/
RUN ln -s /opt/voxloc/bin/voxlocd /opt/voxloc/bin/voxloc /usr/local/bin/ \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/voxloc \
        --shell /usr/sbin/nologin voxloc \
    && install -d -o voxloc -g voxloc /var/lib/voxloc
COPY deploy/voxlocd.basic.yaml /etc/voxloc/voxlocd.yaml
COPY deploy/healthcheck /usr/local/bin/voxloc-healthcheck
# A number, so that Kubernetes can tell that it is not root.
USER 10001:10001
VOLUME /var/lib/voxloc
# gRPC; probes and Prometheus metrics over HTTP.
EXPOSE 50051 9464
# The start is long where many maps are loaded, but the process is live from the beginning.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["voxloc-healthcheck"]
ENTRYPOINT ["voxlocd"]
# Without TLS, for ports that are published to this machine: see docs/security.md for networks.
CMD ["--config=/etc/voxloc/voxlocd.yaml"]
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="voxloc" \
      org.opencontainers.image.description="LiDAR localization service, CUDA and CPU engines" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="docker.io/nvidia/cuda:13.0.1-runtime-ubuntu24.04"

# --- the image with the CPU engine: the last stage, which is the default ---

FROM ${CPU_BASE} AS cpu
COPY --from=build /out/runtime-packages.txt /usr/share/voxloc/
RUN export DEBIAN_FRONTEND=noninteractive \
    && apt-get update \
    && xargs apt-get install -y --no-install-recommends < /usr/share/voxloc/runtime-packages.txt \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/log/apt \
        /var/log/dpkg.log
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/voxloc \
        --shell /usr/sbin/nologin voxloc \
    && install -d -o voxloc -g voxloc /var/lib/voxloc
COPY deploy/voxlocd.basic.yaml /etc/voxloc/voxlocd.yaml
COPY deploy/healthcheck /usr/local/bin/voxloc-healthcheck
COPY --from=build /out/bin/ /usr/local/bin/
USER 10001:10001
VOLUME /var/lib/voxloc
EXPOSE 50051 9464
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["voxloc-healthcheck"]
ENTRYPOINT ["voxlocd"]
CMD ["--config=/etc/voxloc/voxlocd.yaml"]
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="voxloc" \
      org.opencontainers.image.description="LiDAR localization service, CPU engine" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="docker.io/library/debian:12-slim"
