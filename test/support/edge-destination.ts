import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { CertificatePair } from './certificates.ts';

/** A request as a destination saw it. */
export interface DestinationRequest {
  readonly method: string;
  readonly target: string;
  /** name, value, name, value, as on the wire. */
  readonly headers: readonly string[];
  /** Common name of the client certificate that was presented and verified. */
  readonly clientName: string | undefined;
}

export type Answer = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

export interface EdgeDestination {
  /** `https://localhost:port`. */
  readonly origin: string;
  readonly requests: readonly DestinationRequest[];
  /** What is answered from now on. Default: 200 and who answers. */
  answer: Answer;
  close(): Promise<void>;
}

/** An HTTPS server that records what comes, and switches to WebSocket, where it sends frames back as they are. */
export async function startDestination(
  name: string,
  { certificate, privateKey }: CertificatePair,
  clientAuthority: string,
): Promise<EdgeDestination> {
  const requests: DestinationRequest[] = [];
  const sockets = new Set<Socket>();
  const record = (incoming: IncomingMessage): void => {
    const { authorized, getPeerCertificate } = incoming.socket as TLSSocket;
    const subject = getPeerCertificate.call(incoming.socket).subject;
    const clientName = authorized ? String(subject?.CN) : undefined;
    requests.push({
      method: incoming.method ?? '',
      target: incoming.url ?? '',
      headers: incoming.rawHeaders,
      clientName,
    });
  };
  const server = createServer(
    { cert: certificate, key: privateKey, ca: clientAuthority, requestCert: true, rejectUnauthorized: false },
    (incoming, outgoing) => {
      record(incoming);
      destination.answer(incoming, outgoing);
    },
  );
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => {
    record(incoming);
    switchToWebSocket(incoming, socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const destination: EdgeDestination = {
    origin: `https://localhost:${port}`,
    requests,
    answer: (_incoming, outgoing) => {
      outgoing.setHeader('content-type', 'application/json');
      outgoing.end(JSON.stringify({ answeredBy: name }));
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return destination;
}

/** RFC 6455 section 4.2.2; what comes masked goes back unmasked, payloads below 126 bytes. */
function switchToWebSocket(incoming: IncomingMessage, socket: Duplex): void {
  const key = incoming.headers['sec-websocket-key'] ?? '';
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const protocol = incoming.headers['sec-websocket-protocol']?.split(',')[0]?.trim();
  socket.on('error', () => socket.destroy());
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      `Sec-WebSocket-Accept: ${accept}\r\n` +
      `${protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`}\r\n`,
  );
  socket.on('data', (frame: Buffer) => {
    const length = (frame[1] ?? 0) & 0x7f;
    const mask = frame.subarray(2, 6);
    const payload = frame.subarray(6, 6 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    socket.write(Buffer.concat([Buffer.from([frame[0] ?? 0, length]), payload]));
  });
}
