# SPDX-License-Identifier: Apache-2.0
#
# voxlocd with the CPU engine.
#   docker build -t voxloc .
#   docker run --rm -p 127.0.0.1:50051:50051 -p 127.0.0.1:9464:9464 -v voxloc-data:/var/lib/voxloc voxloc
#
# The configuration is deploy/voxlocd.basic.yaml; mount another one at /etc/voxloc/voxlocd.yaml.
#
# With the CUDA engine too, for a host with NVIDIA's driver and container toolkit.
#   docker build --target gpu -t voxloc:gpu .
#   docker run --rm --gpus all -p 127.0.0.1:50051:50051 -p 127.0.0.1:9464:9464 -v voxloc-data:/var/lib/voxloc voxloc:gpu

# --- gpu ---

FROM nvidia/cuda:13.0.1-devel-ubuntu24.04 AS build-gpu
WORKDIR /src
COPY scripts/install-dependencies scripts/
RUN scripts/install-dependencies --no-tests
COPY . .
RUN scripts/package --cuda --output /out
RUN mkdir /opt/voxloc && tar -xzf /out/voxloc-*.tar.gz -C /opt/voxloc --strip-components=1

# The runtime image has cuSOLVER, which the engine loads where it is there.
FROM nvidia/cuda:13.0.1-runtime-ubuntu24.04 AS gpu
COPY --from=build-gpu /opt/voxloc/ /opt/voxloc/
RUN ln -s /opt/voxloc/bin/voxlocd /opt/voxloc/bin/voxloc /usr/local/bin/ \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/voxloc \
        --shell /usr/sbin/nologin voxloc \
    && install -d -o voxloc -g voxloc /var/lib/voxloc \
    && install -d /etc/voxloc
COPY --from=build-gpu /src/deploy/voxlocd.basic.yaml /etc/voxloc/voxlocd.yaml
USER voxloc
VOLUME /var/lib/voxloc
EXPOSE 50051 9464
ENTRYPOINT ["voxlocd"]
# Without TLS, for ports that are published to this machine: see docs/security.md for networks.
CMD ["--config=/etc/voxloc/voxlocd.yaml"]

# --- the default: the CPU engine alone ---

FROM debian:12-slim AS build
WORKDIR /src
# By themselves first: the packages are installed again only when this script changes.
COPY scripts/install-dependencies scripts/
RUN scripts/install-dependencies --no-tests
COPY . .
RUN cmake --preset release -DVOXLOC_BUILD_TESTS=OFF -DVOXLOC_CUDA=OFF \
    && cmake --build --preset release
RUN cmake --install build/release --prefix /out --strip
RUN scripts/runtime-packages /out/bin/* > /out/runtime-packages.txt

FROM debian:12-slim
COPY --from=build /out/runtime-packages.txt /usr/share/voxloc/
RUN export DEBIAN_FRONTEND=noninteractive \
    && apt-get update \
    && xargs apt-get install -y --no-install-recommends < /usr/share/voxloc/runtime-packages.txt \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/voxloc \
        --shell /usr/sbin/nologin voxloc \
    && install -d -o voxloc -g voxloc /var/lib/voxloc \
    && install -d /etc/voxloc
COPY --from=build /src/deploy/voxlocd.basic.yaml /etc/voxloc/voxlocd.yaml
COPY --from=build /out/bin/ /usr/local/bin/
USER voxloc
VOLUME /var/lib/voxloc
# gRPC, and Prometheus metrics.
EXPOSE 50051 9464
ENTRYPOINT ["voxlocd"]
# Without TLS, for ports that are published to this machine: see docs/security.md for networks.
CMD ["--config=/etc/voxloc/voxlocd.yaml"]
