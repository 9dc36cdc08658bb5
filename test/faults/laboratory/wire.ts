import { createServer, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { Protocol } from '../../support/api-servers/api-server-double.ts';
import type { CertificatePair } from '../../support/certificates.ts';
import { apiServerPair, frontProxyAuthority } from '../../support/security/certificates.ts';

/** A connection of which both layers are at hand. */
export interface Wire {
  readonly tcp: Socket;
  readonly tls: TLSSocket;
}

export interface WireOptions {
  /** Protocols that the server offers; kube-apiserver offers both. */
  readonly protocols: readonly Protocol[];
  readonly pair?: CertificatePair;
  /** PEM; whose client certificates are accepted. Default: those of front proxies. */
  readonly clientAuthority?: string;
  /** Closes connections of clients whose certificate it does not accept. Default false. */
  readonly refusesOtherClients?: boolean;
}

/** TLS over TCP, put together by hand, so that a script can reset the TCP connection under the TLS one. */
export function wireServer(options: WireOptions, onSecure: (wire: Wire) => void): Server {
  const { protocols, pair = apiServerPair, clientAuthority = frontProxyAuthority.certificate } = options;
  const secureContext = createSecureContext({ cert: pair.chain, key: pair.privateKey, ca: clientAuthority });
  return createServer({ noDelay: true }, (tcp) => {
    const tls = new TLSSocket(tcp, {
      isServer: true,
      secureContext,
      requestCert: true,
      rejectUnauthorized: false,
      ALPNProtocols: [...protocols],
    });
    for (const socket of [tcp, tls]) socket.on('error', () => socket.destroy());
    tls.once('secure', () => {
      // The same as tls.Server would do.
      if (options.refusesOtherClients === true && !tls.authorized) tls.destroy();
      else onSecure({ tcp, tls });
    });
  });
}

/**
 * The inside of a connection for a library that would keep a socket for itself: what it writes goes out between two
 * pieces of what a script writes to `socket`.
 */
export function insideOf(socket: Duplex): Duplex {
  const inside = new Duplex({
    read: () => socket.resume(),
    write(chunk: Buffer, _encoding, done) {
      if (socket.writable) socket.write(chunk, () => done());
      else done();
    },
    final(done) {
      socket.end();
      done();
    },
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    if (!inside.push(chunk)) socket.pause();
  });
  socket.on('end', () => inside.push(null));
  socket.on('close', () => inside.destroy());
  return inside;
}
