import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusView } from '../../test/support/status-view.ts';
import { routersSection } from './routers-section.ts';

test('a router that differs in very much does not make the page very long', async () => {
  const routers = ['cp-a', 'cp-b'].map((serverId) => ({
    server: `https://${serverId}:6443`,
    serverId,
    error: null,
    status: statusView(serverId),
  }));
  const differences = Array.from({ length: 1_000 }, (_, index) => ({
    subject: `custom resources of example-${index}.com/v1`,
    values: routers.map(({ server }, index) => ({ value: String(index), routers: [server] })),
  }));
  const section = String(
    await routersSection({ agree: false, differences, notAsked: [], routers }, new Map(), 0),
  );
  assert.equal(section.split('<li>').length - 1, 50);
  assert.match(section, /They differ in 1000 things/);
  assert.match(section, /And 950 more\./);
});
