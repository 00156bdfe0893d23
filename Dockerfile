# One image for every role: TREADLE_ROLE chooses api or worker (docker-compose.yml shows both).
#
# Programs run in bubblewrap sandboxes, which are made of unprivileged user namespaces. Docker's defaults forbid those, so
# a container of this image needs four security options, and no privilege at all: it runs as an ordinary user, without
# capabilities. docker-compose.yml gives them; on the command line they are:
#
#   docker run --init --cap-drop ALL --security-opt no-new-privileges \
#     --security-opt seccomp=deploy/seccomp.json      Docker's filter forbids making namespaces and mounting in them
#     --security-opt apparmor=unconfined              Docker's profile forbids every mount (better: deploy/apparmor-treadle)
#     --security-opt systempaths=unconfined           a sandbox has its own /proc, which no masked one may hide
#
# Never --privileged, never the Docker socket. Without the options the service says so at start and in /readyz, and runs
# nobody's program.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY bin bin
COPY activities activities
COPY db db
COPY docs docs
COPY domain domain
COPY environments environments
COPY runner runner
COPY sandbox sandbox
COPY src src
COPY storage storage
COPY system system
COPY web web
COPY workflows workflows
RUN npm run build

FROM node:24.21.0-bookworm-slim AS packages
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# The optional packages are the embedded PostgreSQL; here the database has a container of its own.
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund
# Temporal's client comes with native code for five systems, of which this image is one.
RUN find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +

FROM node:24.21.0-bookworm-slim
LABEL org.opencontainers.image.licenses=Apache-2.0
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap ca-certificates iproute2 nftables python3 python3-venv slirp4netns \
 && rm -rf /var/lib/apt/lists/*
# A user that owns nothing of the program, only its data. Volumes mounted there take over the owner.
RUN useradd --uid 10001 --create-home --home-dir /home/treadle --shell /usr/sbin/nologin treadle \
 && install -d -o treadle -g treadle -m 0711 /data \
 && install -d -o treadle -g treadle -m 0700 /keys
WORKDIR /app
COPY package.json package-lock.json LICENSE ./
COPY bin bin
COPY examples examples
COPY deploy/healthcheck.mjs deploy/healthcheck.mjs
COPY --from=packages /build/node_modules node_modules
COPY --from=build /build/dist dist
ENV NODE_ENV=production \
    TREADLE_HOST=0.0.0.0 \
    TREADLE_DATA_DIR=/data \
    TREADLE_INSTALL=never
USER 10001:10001
VOLUME ["/data", "/keys"]
EXPOSE 8443
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 CMD ["node", "deploy/healthcheck.mjs"]
# Node itself, not npm: it gets the signals, and the stop that the service makes of them.
CMD ["node", "bin/treadle", "start"]
