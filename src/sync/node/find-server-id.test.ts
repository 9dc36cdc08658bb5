import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { clusterAuthority, exampleCluster } from '../../../test/support/example-cluster.ts';
import { listenOnLoopback } from '../../../test/support/listen-on-loopback.ts';
import { findServerId } from './find-server-id.ts';

test('a search that is over ends at once, though the server takes connections and says nothing', async (context) => {
  const silent = createServer();
  const { port, stop } = await listenOnLoopback(silent);
  context.after(stop);
  const origin = `https://127.0.0.1:${port}`;
  const { kubeconfig } = await exampleCluster(context);
  const over = new AbortController();
  const connected = once(silent, 'connection');
  const found = findServerId({
    access: { kubeconfig: await kubeconfig(origin) },
    local: { origin, serverName: 'localhost', certificateAuthorities: () => clusterAuthority },
    hostname: 'cp-a',
    isLocal: () => false,
    signal: over.signal,
  });
  // Without that, this file would take as long as the lists may.
  const ended = assert.rejects(found, /abort/i);
  await connected;
  over.abort();
  await ended;
});
