import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { allHeaders, firstHeader } from '../../../src/apimachinery/raw-headers.ts';
import { user } from '../callers.ts';
import { targets } from '../cluster.ts';
import type { CaseGroup, World } from '../conformance-case.ts';
import type { Peer, PeerRequest, UpgradeScript } from '../peers.ts';
import { toldIdentity } from '../told-identity.ts';
import type { RawConnection } from '../wire/exchange.ts';

const mask = Buffer.from([1, 2, 3, 4]);

/**
 * A whole text message of less than 126 bytes in one frame (RFC 6455 section 5.2), as a byte string.
 * @param masked as clients have to
 */
function textFrame(text: string, masked: boolean): string {
  const payload = Buffer.from(text);
  const head = Buffer.from([0x81, payload.length | (masked ? 0x80 : 0)]);
  const body = masked ? Buffer.concat([mask, xor(payload, mask)]) : payload;
  return Buffer.concat([head, body]).toString('latin1');
}

/** The text of such a frame; `undefined` for any other. */
function readTextFrame(frame: Buffer): string | undefined {
  const [first = 0, second = 0] = frame;
  const length = second & 0x7f;
  if (first !== 0x81 || length > 125) return undefined;
  const masked = (second & 0x80) !== 0;
  const start = masked ? 6 : 2;
  const payload = frame.subarray(start, start + length);
  return (masked ? xor(payload, frame.subarray(2, 6)) : payload).toString();
}

function xor(payload: Buffer, key: Buffer): Buffer {
  return Buffer.from(payload.map((byte, index) => byte ^ (key[index % 4] ?? 0)));
}

const jane = user('jane', { groups: ['a, b', 'c'] });
const execOn = (target: string): string => `${target}/web/exec?command=sh&stdin=true`;
/** Name of the stream of `kubectl exec` over WebSocket (KEP-4006). */
const subprotocol = 'v5.channel.k8s.io';

export const upgrades: CaseGroup = {
  title: 'Upgrades',
  cases: [
    {
      id: 'upgrades/websocket',
      rule: 'A WebSocket reaches the local server and peers with the identity of its caller, and carries messages both ways',
      citation: 'KEP-4006; RFC 6455',
      needs: ['websocket', 'http1Bytes'],
      async run(world) {
        for (const [peer, target] of ways(world)) {
          peer.upgradeScript = echoWebSocket;
          const lines = [...websocketLines, `Sec-WebSocket-Protocol: ${subprotocol}`];
          const connection = await upgrade(world, 'GET', target, lines);
          const head = await connection.received.until('\r\n\r\n');
          assert.match(head, /^HTTP\/1\.1 101 /);
          assert.match(head, new RegExp(`sec-websocket-protocol: ${subprotocol}\\r\\n`, 'i'));
          assert.match(
            head,
            new RegExp(`sec-websocket-accept: ${websocketAccept.replaceAll('+', '\\+')}`, 'i'),
          );
          connection.write(textFrame('hello', true));
          await connection.received.until(textFrame('HELLO', false));
          await assertTold(peer, target);
          connection.close();
          assert.equal(await peer.only().over, 'gone');
        }
      },
    },
    {
      id: 'upgrades/spdy',
      rule: 'A SPDY tunnel reaches the local server and peers with the identity of its caller, and carries bytes both ways',
      citation: 'k8s.io/apimachinery pkg/util/httpstream/spdy',
      needs: ['spdy', 'http1Bytes'],
      async run(world) {
        for (const [peer, target] of ways(world)) {
          peer.upgradeScript = (_request, socket) => {
            socket.write(
              'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
            );
            socket.on('data', (chunk: Buffer) => socket.write(chunk.toString('latin1').toUpperCase()));
          };
          const connection = await upgrade(world, 'POST', target, spdyLines);
          assert.match(await connection.received.until('\r\n\r\n'), /^HTTP\/1\.1 101 /);
          connection.write('bytes');
          await connection.received.until('BYTES');
          await assertTold(peer, target);
          connection.close();
          assert.equal(await peer.only().over, 'gone');
        }
      },
    },
    {
      id: 'upgrades/never-a-plain-request',
      rule: 'A SPDY upgrade is tunnelled or refused: never an ordinary POST at a server',
      citation: 'k8s.io/apimachinery pkg/util/httpstream/spdy',
      needs: ['http1Bytes'],
      async run(world) {
        for (const [peer, target] of ways(world)) {
          const connection = await upgrade(world, 'POST', target, spdyLines);
          const received = await connection.received.until('\r\n\r\n');
          connection.close();
          const status = Number(received.split(' ', 2)[1]);
          assert.ok(status >= 400, received);
          for (const { headers } of peer.requests) {
            assert.equal(firstHeader(headers, 'upgrade'), 'SPDY/3.1');
          }
        }
      },
    },
    {
      id: 'upgrades/spdy-refusal',
      rule: 'Where SPDY cannot be tunnelled, a Status says what to do: kubectl 1.30 or newer speaks WebSocket',
      citation: 'KEP-4006',
      needs: ['spdyRefusal', 'http1Bytes'],
      async run(world) {
        for (const [peer, target] of ways(world)) {
          const connection = await upgrade(world, 'POST', target, spdyLines);
          const received = await connection.received.until('"code":');
          connection.close();
          const status = JSON.parse(
            `${received.slice(received.indexOf('{'), received.indexOf('"code":'))}"code":0}`,
          );
          assert.equal(status.kind, 'Status');
          assert.match(status.message, /kubectl 1\.30/);
          assert.deepEqual(peer.requests, []);
        }
      },
    },
    {
      id: 'upgrades/declined',
      rule: 'A WebSocket that the server declines ends with the server’s own response, and is no tunnel',
      citation: 'CVE-2018-1002105',
      needs: ['websocket', 'http1Bytes'],
      async run(world) {
        for (const [peer, target] of ways(world)) {
          const declined = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
          const { head, heard } = await writeBehindHead(world, peer, target, (_request, socket) =>
            socket.write(declined),
          );
          assert.match(head, /^HTTP\/1\.1 403 /);
          assert.equal(heard, '');
          assert.equal(peer.requests.length, 1);
        }
      },
    },
    {
      id: 'upgrades/another-protocol',
      rule: 'A server that switches to another protocol than was asked for gets none of the client’s bytes',
      citation: 'RFC 9110 section 7.8',
      needs: ['websocket', 'http1Bytes'],
      async run(world) {
        for (const [peer, target] of ways(world)) {
          const { head, heard } = await writeBehindHead(world, peer, target, (request, socket) =>
            writeSwitch(request, socket, 'h2c'),
          );
          assert.match(head, /^HTTP\/1\.1 50[023] /);
          assert.equal(heard, '');
        }
      },
    },
    {
      id: 'upgrades/ambiguous-path',
      rule: 'The path of an upgrade is judged as every other path',
      citation: 'GHSA-2q7r-29rg-6m5h',
      needs: ['http1Bytes'],
      async run(world) {
        const target = `${targets.local}/web%2F..%2Fexec`;
        const connection = await upgrade(world, 'GET', target, websocketLines);
        assert.match(await connection.received.until('\r\n\r\n'), /^HTTP\/1\.1 400 /);
        connection.close();
        assert.deepEqual(world.cluster.local.requests, []);
      },
    },
  ],
};

const spdyLines = ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Content-Length: 0'];

/** The example of RFC 6455 section 1.3. */
const websocketKey = 'dGhlIHNhbXBsZSBub25jZQ==';
const websocketAccept = acceptOf(websocketKey);

function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}

const websocketLines = [
  ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
  `Sec-WebSocket-Key: ${websocketKey}`,
];

/** The local server, and a peer that alone serves a subresource which is upgraded. */
function ways({ cluster }: World): readonly (readonly [Peer, string])[] {
  return [
    [cluster.local, execOn(targets.local)],
    [cluster.peer3, execOn(targets.peer3)],
  ];
}

async function upgrade(
  { client, callerLine }: World,
  method: string,
  target: string,
  lines: readonly string[],
): Promise<RawConnection> {
  const connection = await client.connect?.();
  assert.ok(connection !== undefined);
  const [name, value] = await callerLine(jane, { method, target });
  const head = [`${method} ${target} HTTP/1.1`, 'Host: localhost', ...lines, `${name}: ${value}`];
  connection.write(`${[...head, 'X-Remote-User: root'].join('\r\n')}\r\n\r\n`);
  return connection;
}

/** Asks for a WebSocket, and writes on behind the response. @returns what the server has heard of that */
async function writeBehindHead(
  world: World,
  peer: Peer,
  target: string,
  respond: UpgradeScript,
): Promise<{ readonly head: string; readonly heard: string }> {
  let heard = '';
  peer.upgradeScript = (request, socket) => {
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1');
    });
    respond(request, socket);
  };
  const connection = await upgrade(world, 'GET', target, websocketLines);
  const head = await connection.received.until('\r\n\r\n');
  // No HTTP: a router that still reads requests here ends the connection.
  connection.write('smuggled\r\n\r\n');
  await connection.received.outcome();
  return { head, heard };
}

async function assertTold(peer: Peer, target: string): Promise<void> {
  const request = peer.only();
  assert.equal(request.target, target);
  const told = await toldIdentity(peer, request);
  assert.equal(told?.user, 'jane');
  assert.deepEqual(told.groups, ['a, b', 'c', 'system:authenticated']);
}

/** A 101 that is right in everything but, maybe, the protocol that it names. */
function writeSwitch({ headers }: PeerRequest, socket: Duplex, protocol = 'websocket'): void {
  const accept = acceptOf(firstHeader(headers, 'sec-websocket-key') ?? '');
  socket.write(
    [
      'HTTP/1.1 101 Switching Protocols',
      'Connection: Upgrade',
      `Upgrade: ${protocol}`,
      `Sec-WebSocket-Accept: ${accept}`,
      ...allHeaders(headers, 'sec-websocket-protocol').map((value) => `Sec-WebSocket-Protocol: ${value}`),
      '\r\n',
    ].join('\r\n'),
  );
}

/** Accepts as RFC 6455 has it and sends every message back in upper case. */
function echoWebSocket(request: PeerRequest, socket: Duplex): void {
  writeSwitch(request, socket);
  socket.on('data', (chunk: Buffer) => {
    const text = readTextFrame(chunk);
    if (text !== undefined) socket.write(textFrame(text.toUpperCase(), false), 'latin1');
  });
}
