# The command kragx in an image, not as root:
#
#     docker build -t kragx .
#     docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" kragx run kragx.yaml
#
# Not built where kragx was written, which has no Docker daemon; its steps were done one by one with
# Python 3.12, the command was run by a user who is not root, and tests/project/test_container.py
# reads this file. The environment takes 0.41 GB, most of it Kiwi and NumPy; whoever reads Excel or
# Parquet adds the extras pandas and parquet below (0.67 GB).
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY kragx ./kragx
RUN python -m venv --without-pip /opt/kragx && python -m pip --python /opt/kragx install --no-cache-dir ".[korean,bm25]"

FROM python:3.12-slim
COPY --from=build /opt/kragx /opt/kragx
# Whoever the container runs as may write here; configs and results are mounted over it.
RUN useradd --create-home kragx && mkdir -m 1777 /work
ENV PATH=/opt/kragx/bin:$PATH PYTHONUTF8=1 HOME=/tmp
USER kragx
WORKDIR /work
ENTRYPOINT ["kragx"]
CMD ["--help"]
