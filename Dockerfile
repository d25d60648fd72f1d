# hpcdispatch with its compiled functions: docker build -t hpcdispatch . && docker run --rm -v "$PWD:/data" hpcdispatch run example
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python -m venv /opt/hpcdispatch && /opt/hpcdispatch/bin/pip install --no-cache-dir /source

FROM python:3.13-slim
COPY --from=build /opt/hpcdispatch /opt/hpcdispatch
# Compiled functions are kept beside the byte code, which the user of the image only reads.
RUN /opt/hpcdispatch/bin/hpcdispatch compile --workers 2 && useradd --create-home user
ENV PATH=/opt/hpcdispatch/bin:$PATH
USER user
WORKDIR /data
ENTRYPOINT ["hpcdispatch"]
CMD ["--help"]
