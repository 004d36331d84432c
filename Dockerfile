# The wheel is built in a first stage, so that the image has no compiler. Both stages begin with the same image, of
# Python 3.12.14 on Debian 13: Dependabot proposes the digest of a newer one.
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
LABEL org.opencontainers.image.title="cranfield" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /wheel /wheel
RUN python -m pip install --no-cache-dir "$(echo /wheel/cranfield-*.whl)[all]" && rm -r /wheel
RUN useradd --create-home --uid 1000 cranfield
USER cranfield
# Machine code that is compiled at first use; /data is where files of the host are mounted.
ENV NUMBA_CACHE_DIR=/home/cranfield/.cache/numba PYTHONUNBUFFERED=1
WORKDIR /data
EXPOSE 8000
ENTRYPOINT ["cranfield"]
# Within a container every address is another machine's, so that a token is needed: one is made and shown.
CMD ["serve", "--host", "0.0.0.0", "--port", "8000", "--token", "new"]
