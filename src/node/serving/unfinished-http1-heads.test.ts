import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { eventually } from '../../../test/support/eventually.ts';
import { rawClient } from '../../../test/support/node-clients.ts';
import { startServer } from '../../../test/support/node-server.ts';
import { readUntil } from '../../../test/support/tls-client.ts';

const part = (name: string) => `GET /${name} HTTP/1.1\r\nHost: a\r\nX-Filler: ${'x'.repeat(1_500)}`;
const request = (name: string, body = '') =>
  `POST /${name} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test('attack: unfinished HTTP/1.1 heads on many connections: beyond the total limit the oldest are closed, others stay', async (context) => {
  const { port } = await startServer(context, (_request, { inbound }) => new Response(inbound.target), {
    limits: { maximumUnfinishedHeads: 10_000, unfinishedHeadsInterval: 5 },
  });
  // Connections whose requests were whole hold nothing, however long those were.
  const served = await Promise.all(Array.from({ length: 8 }, () => rawClient(context, port)));
  for (const [index, client] of served.entries()) {
    client.write(request(`served-${index}`, 'x'.repeat(5_000)));
    await readUntil(client, `/served-${index}`);
  }
  const attackers: TLSSocket[] = [];
  for (let index = 0; index < 20; index++) {
    const attacker = await rawClient(context, port);
    attacker.on('error', () => {});
    attacker.write(part(`attacker-${index}`));
    attackers.push(attacker);
  }
  await eventually(() => attackers.filter(({ destroyed }) => destroyed).length >= 14);
  const left = attackers.filter(({ destroyed }) => !destroyed);
  assert.ok(left.length > 0, 'as many as the budget has room for go on');
  assert.deepEqual(left, attackers.slice(-left.length), 'the oldest went');
  const [youngest] = left.slice(-1);
  youngest?.write('\r\n\r\n');
  if (youngest !== undefined) await readUntil(youngest, '/attacker-19');
  for (const [index, client] of served.entries()) {
    client.write(request(`again-${index}`));
    await readUntil(client, `/again-${index}`);
  }
  const [last] = served;
  last?.end();
  if (last !== undefined) await once(last, 'close');
});
