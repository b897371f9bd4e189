# The REST service on CPUs: docs/deploy.md. The environment is built in a stage of its own; pip's cache and the source stay there.
FROM python:3.11-slim AS build
WORKDIR /source
COPY constraints.txt ./
RUN python -m venv /opt/oddshot
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN /opt/oddshot/bin/pip install --no-cache-dir -c constraints.txt '.[serve]'

FROM python:3.11-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/oddshot oddshot \
 && install --directory --owner oddshot --mode 0700 /var/lib/oddshot
COPY --from=build /opt/oddshot /opt/oddshot
ENV PATH=/opt/oddshot/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /var/lib/oddshot
VOLUME /var/lib/oddshot
EXPOSE 8000
# The token comes from the environment: docker run --env ODDSHOT_TOKEN; without one, the service refuses to start.
ENTRYPOINT ["oddshot", "serve"]
CMD ["--host", "0.0.0.0", "--port", "8000", "--store", "/var/lib/oddshot/detectors.sqlite"]
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
