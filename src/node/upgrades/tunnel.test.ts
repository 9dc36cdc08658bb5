import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { OpenStreams } from '../exchange/open-streams.ts';
import { tunnel } from './upgrade.ts';

/** A side that takes no byte. */
function neverReads(): Duplex {
  return new Duplex({ read() {}, write() {} });
}

for (const gone of ['client', 'destination'] as const) {
  test(`the ${gone} has gone and the other side never reads: its connection ends, too`, async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const sides = { client: neverReads(), destination: neverReads() };
    const other = gone === 'client' ? sides.destination : sides.client;
    const openStreams = new OpenStreams();
    tunnel(sides.client, sides.destination, openStreams);
    other.write('on its way');
    sides[gone].destroy();
    await once(sides[gone], 'close');
    assert.equal(other.destroyed, false);
    assert.equal(openStreams.size, 1);

    context.mock.timers.tick(10_000);
    assert.equal(other.destroyed, true);
    await once(other, 'close');
    assert.equal(openStreams.size, 0);
  });
}

test('a shutdown finds a tunnel whose client has gone and whose destination never reads', async () => {
  const [client, destination] = [neverReads(), neverReads()];
  const openStreams = new OpenStreams();
  tunnel(client, destination, openStreams);
  destination.write('on its way');
  client.destroy();
  await once(client, 'close');
  assert.equal(destination.destroyed, false);
  openStreams.cut();
  assert.equal(destination.destroyed, true);
  await once(destination, 'close');
  assert.equal(openStreams.size, 0);
});
