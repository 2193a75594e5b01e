# The demo on Debian, without root and, after the build, without a network:
#     docker build -t tinysplit .
#     docker run --rm --network none tinysplit
# A command on files of the current folder:
#     docker run --rm --network none -v "$PWD:/data" -w /data -u "$(id -u):$(id -g)" tinysplit tinysplit analyze net.onnx
FROM debian:bookworm-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates gcc gcc-arm-none-eabi libc6-dev libnewlib-arm-none-eabi python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home tinysplit

USER tinysplit
WORKDIR /home/tinysplit/tinysplit
COPY --chown=tinysplit . .
RUN ./run setup
ENV PATH=/home/tinysplit/tinysplit/.venv/bin:$PATH

CMD ["./run", "demo"]
