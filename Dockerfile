# Odyssey in a container: the packages of constraints.txt, checked by their hashes as `make demo` does it.
# The base image is an argument, so that you can pin it by digest.
ARG PYTHON_IMAGE=python:3.13-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /build
COPY constraints.txt ./
RUN python -m venv /opt/odyssey \
    && /opt/odyssey/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --no-deps -r constraints.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY examples examples
RUN /opt/odyssey/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation .

FROM ${PYTHON_IMAGE}
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bubblewrap git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/odyssey odyssey
COPY --from=build /opt/odyssey /opt/odyssey
ENV PATH=/opt/odyssey/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PIPELINES_HOST=0.0.0.0 \
    PIPELINES_DATA_DIR=/var/lib/odyssey/data \
    PIPELINES_LOG_FORMAT=json
USER odyssey
WORKDIR /var/lib/odyssey
VOLUME /var/lib/odyssey
EXPOSE 8420
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8420/health/ready', timeout=4)"]
ENTRYPOINT ["pipelines"]
CMD ["up"]
