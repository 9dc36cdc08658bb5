import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { freePort } from '../../../scripts/harness/free-port.ts';
import type { Protocol } from '../../support/api-server-double.ts';
import { createAuthority } from '../../support/certificates.ts';
import { apiServerPair, clusterAuthority } from '../../support/security/certificates.ts';
import { type Damage, type Fault, withTimeouts } from './fault.ts';
import type { Laboratory } from './laboratory.ts';

/** Under the name of the trusted one, with another key. */
const rogueAuthority = await createAuthority('kubernetes');
const roguePair = await rogueAuthority.issue({ dnsNames: ['kubernetes.default.svc'], usage: 'server' });
const otherNamePair = await clusterAuthority.issue({ dnsNames: ['kubernetes.example'], usage: 'server' });
const expiredPair = await clusterAuthority.issue({
  dnsNames: ['kubernetes.default.svc'],
  usage: 'server',
  notBefore: new Date(Date.now() - 7_200_000),
  notAfter: new Date(Date.now() - 3_600_000),
});

/** Enough for any handshake that does go on. */
const impatient = withTimeouts({ tlsHandshake: 3_000 });

/** Faults that stand before the first byte of a request. */
export const connectionFaults: readonly Fault[] = [
  { name: 'refuses connections', damage: 'not-arrived', listen: () => freePort() },
  {
    name: 'accepts connections and never says a word',
    damage: 'not-arrived',
    listen: (laboratory) => listen(laboratory, (socket) => socket.resume()),
    configure: impatient,
  },
  {
    name: 'stops in the middle of the TLS handshake',
    damage: 'not-arrived',
    listen: (laboratory) => listen(laboratory, halfHandshake),
    configure: impatient,
  },
  {
    name: 'resets the connection in the TLS handshake',
    damage: 'not-arrived',
    listen: (laboratory) =>
      listen(laboratory, (socket) => socket.once('data', () => socket.resetAndDestroy())),
  },
  {
    name: 'speaks no TLS',
    damage: 'not-arrived',
    listen: (laboratory) =>
      listen(laboratory, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')),
  },
  { name: 'shows a certificate of another name', damage: 'not-arrived', tls: { pair: otherNamePair } },
  { name: 'shows a certificate that has expired', damage: 'not-arrived', tls: { pair: expiredPair } },
  {
    name: 'shows a certificate of an authority that is not trusted',
    damage: 'not-arrived',
    tls: { pair: roguePair },
  },
  // TLS 1.3 tells a client after its handshake is over; Node tells it nothing at all. Over HTTP/2 no request is sent
  // before the server has spoken. Where an alert comes, nothing has arrived either (`src/node/destinations/exchange.ts`).
  closesOtherConnections('not-arrived', 'h2'),
  closesOtherConnections('unanswered', 'http/1.1'),
];

function closesOtherConnections(damage: Damage, protocol: Protocol): Fault {
  return {
    name: `closes the connections of front proxies that it does not accept (${protocol})`,
    damage,
    protocols: [protocol],
    tls: { clientAuthority: rogueAuthority.certificate, refusesOtherClients: true },
  };
}

/** Sends the beginning of a real ServerHello. */
function halfHandshake(socket: Socket): void {
  let left = 60;
  const inside = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      const piece = chunk.subarray(0, left);
      left -= piece.length;
      if (piece.length > 0) socket.write(piece);
      done();
    },
  });
  socket.on('data', (chunk: Buffer) => inside.push(chunk));
  socket.once('close', () => inside.destroy());
  const secureContext = createSecureContext({ cert: apiServerPair.chain, key: apiServerPair.privateKey });
  const tls = new TLSSocket(inside, { isServer: true, secureContext });
  tls.on('error', () => tls.destroy());
}

async function listen({ context }: Laboratory, accept: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    accept(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}
