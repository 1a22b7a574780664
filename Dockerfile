# SPDX-License-Identifier: Apache-2.0
#
# voxlocd with the CPU engine.
#   docker build -t voxloc .
#   docker run --rm -p 50051:50051 -p 9464:9464 -v voxloc-data:/var/lib/voxloc voxloc

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
    && install -d -o voxloc -g voxloc /var/lib/voxloc
COPY --from=build /out/bin/ /usr/local/bin/
USER voxloc
VOLUME /var/lib/voxloc
# gRPC, and Prometheus metrics.
EXPOSE 50051 9464
ENTRYPOINT ["voxlocd"]
CMD ["--listen=0.0.0.0:50051", "--metrics-listen=0.0.0.0:9464", "--data-dir=/var/lib/voxloc"]
