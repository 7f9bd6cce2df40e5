from urllib.request import urlopen


def fetch(url):
    with urlopen(url) as reply:
        return reply.read()
