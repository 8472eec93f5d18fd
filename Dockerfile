# softquota in a container; docs/docker.md tells how it stands beside a git server.
#
# The first stage builds, on the processor of the builder, since what it makes is the same for all; the second keeps what
# runs: Node.js, softquota, git and curl for the playground and the hooks.

FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --omit=dev
COPY tsconfig.json ./
COPY scripts/build scripts/bundle.ts ./scripts/
COPY src ./src
COPY web ./web
COPY docs/openapi.json ./docs/
RUN npm run build

FROM node:24-bookworm-slim
# A container's user other than root is given no capability, only the permission to take it: read-all is setpriv
# with the right to take the one that reads every file, and hands it on to what it starts.
RUN apt-get update \
    && apt-get install -y --no-install-recommends curl git libcap2-bin \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --no-create-home --home-dir /var/lib/softquota \
        --shell /usr/sbin/nologin softquota \
    && install -d -o softquota -g softquota -m 700 /var/lib/softquota \
    && install -d -o softquota -g softquota -m 755 /run/softquota \
    && install -m 755 /usr/bin/setpriv /usr/local/bin/read-all \
    && setcap cap_dac_read_search=ep /usr/local/bin/read-all \
    && ln -s /opt/softquota/bin/softquota.js /usr/local/bin/softquota
WORKDIR /opt/softquota
COPY package.json ./
COPY bin ./bin
COPY hooks ./hooks
COPY --from=build /build/dist ./dist
WORKDIR /
# glibc would keep freed memory for each thread apart from that of all others.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2
USER 10001:10001
VOLUME /var/lib/softquota
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["softquota", "health"]
ENTRYPOINT ["softquota"]
CMD ["serve"]
