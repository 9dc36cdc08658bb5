import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { MemoryBudget } from '../../../packages/http2/index.ts';
import { askHttp1, rawClient } from '../../../test/support/clients/node-clients.ts';
import { readUntil } from '../../../test/support/clients/tls-client.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { everyoneVerified, startServer } from '../../../test/support/routers/node-server.ts';
import { collectGarbage } from '../../../test/support/security/memory.ts';
import type { RouterServerOptions } from './server.ts';

const part = (name: string) => `GET /${name} HTTP/1.1\r\nHost: a\r\nX-Filler: ${'x'.repeat(15_000)}`;
const request = (name: string, body = '') =>
  `POST /${name} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const chunked = (name: string) =>
  `POST /${name} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${'3\r\nabc\r\n'.repeat(500)}0\r\n\r\n`;
const limits = { heldBytesInterval: 5 };

describe('unfinished HTTP/1.1 heads on many connections', () => {
  for (const [what, first, options] of [
    ['of clients without a certificate', '', { memory: new MemoryBudget(400_000) }],
    ['behind a complete request in the same packet', request('first'), { memory: new MemoryBudget(400_000) }],
    // Clients with a certificate may hold the whole budget.
    [
      'of clients with a certificate',
      '',
      { memory: new MemoryBudget(200_000), clientCertificateOf: everyoneVerified },
    ],
  ] as const) {
    test(`attack: ${what}: the oldest are closed, others stay`, async (context) => {
      const { port } = await startServer(context, (_request, { inbound }) => new Response(inbound.target), {
        limits,
        ...options,
      });
      // Connections whose requests were whole hold nothing, however long those were.
      const served = await Promise.all(Array.from({ length: 4 }, () => rawClient(context, port)));
      for (const [index, client] of served.entries()) {
        client.write(request(`served-${index}`, 'x'.repeat(5_000)));
        await readUntil(client, `/served-${index}`);
        client.write(chunked(`in-chunks-${index}`));
        await readUntil(client, `/in-chunks-${index}`);
      }
      const attackers: TLSSocket[] = [];
      // All hold the same: of who stand still for a second the one that holds most would go first.
      for (let index = 10; index < 30; index++) {
        const attacker = await rawClient(context, port);
        attacker.on('error', () => {});
        if (first !== '') {
          attacker.write(first + part(`attacker-${index}`).slice(0, 100));
          // The response, or 429 where the heads of the others fill the memory at this moment.
          await readUntil(attacker, '\r\n\r\n');
          attacker.write(part(`attacker-${index}`).slice(100));
        } else attacker.write(part(`attacker-${index}`));
        attacker.resume();
        attackers.push(attacker);
      }
      await eventually(() => attackers.filter(({ destroyed }) => destroyed).length >= 8);
      const left = attackers.filter(({ destroyed }) => !destroyed);
      assert.ok(left.length > 0, 'as many as there is memory for go on');
      assert.deepEqual(left, attackers.slice(-left.length), 'the oldest went');
      for (const [index, client] of served.entries()) {
        client.write(request(`again-${index}`));
        await readUntil(client, `/again-${index}`);
      }
      const [last] = served;
      last?.end();
      if (last !== undefined) await once(last, 'close');
    });
  }
});

describe('lines of whole heads that Node’s parser keeps', () => {
  const echo: RouterServerOptions['fetch'] = (_request, { inbound }) => new Response(inbound.target);
  const withLarge = (name: string, place: number) =>
    `GET /${name} HTTP/1.1\r\nHost: a\r\n${'X-S: s\r\n'.repeat(place)}X-Large: ${'x'.repeat(60_000)}\r\n\r\n`;

  test('attack: a connection that leaves a large line at one place before the other ends, another is served', async (context) => {
    const { port } = await startServer(context, echo, { memory: new MemoryBudget(3_000_000), limits });
    const other = await rawClient(context, port);
    const attacker = await rawClient(context, port);
    let answers = 0;
    attacker.on('error', () => {}).on('data', () => answers++);
    for (let place = 29; place > 0 && !attacker.destroyed; place--) {
      const before = answers;
      attacker.write(withLarge('attack', place));
      await eventually(() => answers > before || attacker.destroyed);
    }
    await eventually(() => attacker.destroyed);
    other.write(request('other'));
    await readUntil(other, '/other');
  });

  test('as many requests with a large line at the same place as a client likes: its connection goes on', async (context) => {
    const { port } = await startServer(context, echo, { memory: new MemoryBudget(3_000_000), limits });
    const client = await rawClient(context, port);
    for (let index = 0; index < 40; index++) {
      client.write(withLarge(`request-${index}`, 0));
      assert.match(await readUntil(client, `/request-${index}`), /^HTTP\/1\.1 200 /);
    }
  });

  test('a client that goes on asking is not cut for what its parser keeps: idle ones are', async (context) => {
    const { port } = await startServer(context, echo, { memory: new MemoryBudget(3_000_000), limits });
    const client = await rawClient(context, port);
    client.write(withLarge('first', 5));
    await readUntil(client, '/first');
    const idle: TLSSocket[] = [];
    for (let index = 0; index < 30; index++) {
      const other = await rawClient(context, port);
      other.on('error', () => {});
      idle.push(other);
      const answered = once(other, 'data');
      other.write(withLarge('idle', 0));
      await answered;
      client.write(request(`then-${index}`));
      await readUntil(client, `/then-${index}`);
    }
    await eventually(() => idle.some(({ destroyed }) => destroyed));
    assert.equal(idle.at(-1)?.destroyed, false);
    assert.equal(client.destroyed, false);
  });

  test('of closed connections at most one parser is kept', async (context) => {
    const parsers: WeakRef<object>[] = [];
    const { port } = await startServer(context, echo, {
      clientCertificateOf: ({ socket }) => {
        const parser: unknown = Reflect.get(socket, 'parser');
        if (typeof parser === 'object' && parser !== null) parsers.push(new WeakRef(parser));
        return {};
      },
    });
    const clients = await Promise.all(Array.from({ length: 10 }, () => rawClient(context, port)));
    for (const client of clients) {
      client.write(request('parsed'));
      await readUntil(client, '/parsed');
    }
    assert.ok(new Set(parsers.map((parser) => parser.deref())).size >= clients.length);
    for (const client of clients) client.destroy();
    await eventually(() => {
      collectGarbage();
      return new Set(parsers.flatMap((parser) => parser.deref() ?? [])).size <= 1;
    });
  });
});

test('tunnels hold no head: many live on while heads are given up', async (context) => {
  const { port } = await startServer(context, () => new Response(), {
    memory: new MemoryBudget(400_000),
    limits,
    onUpgrade(_incoming, socket) {
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      socket.pipe(socket);
    },
  });
  const upgrade = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  const tunnels: TLSSocket[] = [];
  for (let index = 0; index < 10; index++) {
    const tunnel = await rawClient(context, port);
    tunnel.write(upgrade);
    await readUntil(tunnel, '101');
    tunnel.write(`${'x'.repeat(100_000)}sent-${index}.`);
    await readUntil(tunnel, `sent-${index}.`);
    tunnels.push(tunnel);
  }
  const attackers = await Promise.all(Array.from({ length: 20 }, () => rawClient(context, port)));
  for (const attacker of attackers) {
    attacker.on('error', () => {}).resume();
    attacker.write(part('attacker'));
  }
  await eventually(() => attackers.some(({ destroyed }) => destroyed));
  for (const [index, tunnel] of tunnels.entries()) {
    tunnel.write(`alive-${index}.`);
    await readUntil(tunnel, `alive-${index}.`);
  }
});

const endless = () =>
  new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(16_384)) });

for (const [what, rest, response] of [
  ['uploads', `Content-Length: 90000\r\n\r\n${'x'.repeat(50_000)}`, undefined],
  ['responses', 'Content-Length: 0\r\n\r\n', () => new Response(endless())],
] as const) {
  test(`attack: of ${what} over HTTP/1.1 that nobody takes the oldest end, as many as there is memory for go on, and others are served`, async (context) => {
    const gone: string[] = [];
    const come = new Set<string>();
    const { port } = await startServer(
      context,
      (_request, { inbound: { target, signal } }) => {
        if (target === '/other') return new Response('served');
        come.add(target);
        signal.addEventListener('abort', () => gone.push(target));
        return response?.() ?? new Promise<Response>(() => {});
      },
      { memory: new MemoryBudget(400_000), limits },
    );
    for (let index = 0; index < 12; index++) {
      // One after the other, so that it is known which is the oldest. What is held is looked at now and then: until then there
      // may be no memory for another one (429), which comes again.
      while (!come.has(`/${index}`)) {
        const attacker = await rawClient(context, port);
        attacker.on('error', () => {}).pause();
        attacker.write(`POST /${index} HTTP/1.1\r\nHost: a\r\n${rest}`);
        await eventually(() => come.has(`/${index}`) || attacker.readableLength > 0 || attacker.destroyed);
      }
    }
    await eventually(() => gone.length > 0);
    await eventually(async () => (await askHttp1(port, { path: '/other' })).status === 200);
    assert.equal(gone[0], '/0');
    assert.ok(gone.length < 12);
  });
}

test('a request for which there is no memory gets a 429 that clients repeat, and the connection goes on', async (context) => {
  const { port } = await startServer(context, (_request, { inbound }) => new Response(inbound.target), {
    memory: new MemoryBudget(200_000),
    limits,
  });
  const client = await rawClient(context, port);
  client.write(
    `POST /large HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(8_000)}\r\nContent-Length: 4\r\n\r\nbody`,
  );
  const refused = await readUntil(client, '"code":429}');
  assert.match(refused, /^HTTP\/1\.1 429 Too Many Requests\r\n.*retry-after: 1\r\n/is);
  client.write(request('small'));
  await readUntil(client, '/small');
});

test('of the head of a request only what is still needed is kept once its response has begun', async (context) => {
  let headers: readonly string[] = [];
  const { port } = await startServer(
    context,
    (_request, { inbound }) => {
      headers = inbound.headers;
      return new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('begun')) }),
      );
    },
    { limits },
  );
  const client = await rawClient(context, port);
  client.write(`GET / HTTP/1.1\r\nHost: a\r\nX-Large: ${'a'.repeat(10_000)}\r\nUser-Agent: kubectl\r\n\r\n`);
  await readUntil(client, 'begun');
  await eventually(() => headers.length === 2);
  assert.deepEqual(headers, ['User-Agent', 'kubectl']);
});
