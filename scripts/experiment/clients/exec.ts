import { randomBytes } from 'node:crypto';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from './api-client.ts';
import { fixtureName, pods } from './subjects.ts';

/** Channel numbers of `v5.channel.k8s.io` (k8s.io/apimachinery pkg/util/remotecommand/constants.go). */
const stdin = 0;
const closeChannel = 255;

const patience = 10_000;
const retryPause = 500;

/** Runs a command in the pod that is always there, types a word, and waits until it comes back. */
export async function execOnce(client: ApiClient): Promise<void> {
  const { findings, signal } = client.options;
  findings.asked();
  for (let tries = 0; ; tries += 1) {
    const outcome = await execute(client);
    if (outcome === 'done' || signal.aborted) return;
    // Nothing has been started yet: whoever wants the command says it again.
    if (outcome === 'unsent' && tries < 3) {
      await sleep(retryPause);
      continue;
    }
    findings.add('failedExecs', outcome);
    return;
  }
}

function execute({ options }: ApiClient): Promise<'done' | 'unsent' | string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const word = randomBytes(8).toString('hex');
  let isConnected = false;
  const outgoing = request(
    `${options.origin}${pods.collection}/${fixtureName}/exec?command=cat&container=main&stdin=true&stdout=true`,
    {
      ...options.tls,
      agent: false,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': randomBytes(16).toString('base64'),
        'sec-websocket-protocol': 'v5.channel.k8s.io',
      },
    },
  );
  const late = setTimeout(() => outgoing.destroy(new Error('no echo in time')), patience);
  outgoing.once('socket', (socket) =>
    socket.once('secureConnect', () => {
      isConnected = true;
    }),
  );
  outgoing.once('error', (error) => resolve(isConnected ? error.message : 'unsent'));
  outgoing.once('response', (response) => {
    response.resume();
    resolve(`answered with ${response.statusCode} in place of 101`);
  });
  outgoing.once('upgrade', (_response, socket, head) => {
    late.refresh();
    socket.once('error', (error) => resolve(error.message));
    socket.once('close', () => resolve('closed before the echo'));
    setTimeout(() => socket.destroy(), patience).unref();
    echo(socket, head, word, () => resolve('done'));
  });
  outgoing.end();
  return promise.finally(() => clearTimeout(late));
}

function echo(socket: Duplex, head: Buffer, word: string, done: () => void): void {
  let received = head.toString('latin1');
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    if (!received.includes(word)) return;
    done();
    socket.write(maskedFrame(Buffer.from([closeChannel, stdin])));
    socket.end();
  });
  socket.write(maskedFrame(Buffer.concat([Buffer.from([stdin]), Buffer.from(word)])));
}

/** One short binary message of a client (RFC 6455 section 5.2); the mask may be all zeroes. */
function maskedFrame(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x82, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}
