# Tollgate in a container: docs/docker.md. The two images can be replaced by others of the same Debian release or an older
# runtime's equal: the program needs glibc and libgcc_s of at least the release it was built on, and nothing else.
ARG RUST_IMAGE=rust:1-slim-trixie
ARG RUNTIME_IMAGE=debian:trixie-slim

FROM ${RUST_IMAGE} AS build
WORKDIR /src
COPY . .
# The caches keep the registry and the compiled dependencies from build to build; no layer holds them. cargo compares times:
# a file that came with a merge during the last build is older than what was compiled without it, so ours count as new.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    find crates bench -type f -exec touch {} + \
    && cargo build --release --locked --package tollgate --bin tollgate \
    && cp target/release/tollgate /usr/local/bin/tollgate \
    && mkdir /state

# No RUN below: an image without a shell will do as well.
FROM ${RUNTIME_IMAGE}
COPY --from=build /usr/local/bin/tollgate /usr/local/bin/tollgate
# proxy.yaml here is the configuration: mount yours.
WORKDIR /etc/tollgate
# What `state_dir` is unless the configuration says otherwise: the rules added at run time. A volume that is put here gets its
# owner with it.
COPY --from=build --chown=65532:65532 /state /etc/tollgate/state
# By number, so that Kubernetes can see that it is not root. It needs no name, no home and no other file of its own.
USER 65532:65532
EXPOSE 6033 6034
# Drains: see `drain` in docs/configuration.md, and give the container more time to stop than `drain.deadline`.
STOPSIGNAL SIGTERM
# Whether it lives, not whether it is ready: an engine that replaces unhealthy containers must not do so because MySQL is down.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/usr/local/bin/tollgate", "health", "--live"]
ENTRYPOINT ["/usr/local/bin/tollgate"]
CMD ["run", "--config", "/etc/tollgate/proxy.yaml"]
