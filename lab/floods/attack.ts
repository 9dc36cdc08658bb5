/** The attacker, in a process of its own: `attack.ts PORT FLOOD MILLISECONDS`; says how much it could write. */

import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { frameFlag, frameHead, frameType } from '../../packages/http2/frames/frame.ts';
import { type Flood, floods } from './floods.ts';

const [port = '', index = '', milliseconds = ''] = process.argv.slice(2);
const flood = floods[Number(index)] as Flood;
const preface = `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${frameHead(0, frameType.settings, frameFlag.none, 0)}`;
let written = 0;
let connections = 0;

/** Handshakes at a time: more would only be late. */
const handshakesAtOnce = 50;
let until = Number.POSITIVE_INFINITY;
const isOver = (): boolean => performance.now() >= until;

interface Attacker {
  readonly socket: TLSSocket;
  readonly closed: Promise<void>;
}

/** @returns `undefined` where nobody takes the connection */
async function connected(): Promise<Attacker | undefined> {
  const socket = connect({
    host: '127.0.0.1',
    port: Number(port),
    rejectUnauthorized: false,
    ALPNProtocols: [flood.protocol],
  });
  socket.on('error', () => {});
  socket.on('data', () => {});
  // An attacker that is told to go has been found out.
  socket.on('end', () => socket.destroy());
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await Promise.race([new Promise((resolve) => socket.once('secureConnect', resolve)), closed]);
  if (socket.destroyed) return undefined;
  connections++;
  return { socket, closed };
}

/** One connection, until it ends or the time is over. */
async function attack({ socket, closed }: Attacker): Promise<void> {
  socket.write((flood.protocol === 'h2' ? preface : '') + flood.opening, 'latin1');
  for (let round = 0; round < flood.rounds && !socket.destroyed && !isOver(); round++) {
    const { bytes, units } = flood.batch(round);
    await room(socket, closed, bytes);
    if (!socket.destroyed) written += units;
  }
  // Unfinished streams stay so.
  if (!flood.connectsAnew) await Promise.race([closed, sleep(Math.max(0, until - performance.now()))]);
  socket.destroy();
}

async function room(socket: TLSSocket, closed: Promise<void>, bytes: string): Promise<void> {
  const hasRoom = socket.write(bytes, 'latin1');
  if (hasRoom) await new Promise(setImmediate);
  else await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed, sleep(1_000)]);
}

const first: (Attacker | undefined)[] = [];
while (first.length < flood.connections) {
  const count = Math.min(handshakesAtOnce, flood.connections - first.length);
  first.push(...(await Promise.all(Array.from({ length: count }, connected))));
}
until = performance.now() + Number(milliseconds);
await Promise.all(
  first.map(async (attacker) => {
    if (attacker !== undefined) await attack(attacker);
    while (flood.connectsAnew && !isOver()) {
      const next = await connected();
      if (next !== undefined) await attack(next);
    }
  }),
);
console.log(JSON.stringify({ written, connections }));
process.exit(0);
