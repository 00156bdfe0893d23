import ssl


def main():
    context = ssl.create_default_context()
    return [context.verify_mode.name, context.check_hostname, len(context.get_ca_certs()) > 10, ssl.OPENSSL_VERSION, len(set(ssl.RAND_bytes(16) for _ in range(20)))]
