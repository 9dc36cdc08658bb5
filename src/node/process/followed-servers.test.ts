import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { ownServerCheck } from './followed-servers.ts';

const tableOf = (...ids: readonly string[]): RoutingTable =>
  buildRoutingTable(snapshotOf(Object.fromEntries(ids.map((id) => [id, ['v1/pods']]))));

test('a snapshot without the local server is warned of, with the IDs that it has', () => {
  const { logger, lines } = recordingLogger();
  ownServerCheck(() => 'cp-x', logger)(tableOf('cp-a', 'cp-b'));
  assert.equal(lines.length, 1);
  assert.equal(lines[0]?.level, 'warn');
  assert.match(lines[0]?.message ?? '', /compare --server-id .*endpoint-/);
  assert.deepEqual(lines[0]?.fields, { serverId: 'cp-x', servers: 2, serverIds: ['cp-a', 'cp-b'] });
});

test('at most ten IDs are named', () => {
  const { logger, lines } = recordingLogger();
  const ids = Array.from({ length: 12 }, (_, index) => `cp-${index + 10}`);
  ownServerCheck(() => 'cp-x', logger)(tableOf(...ids));
  assert.deepEqual(lines[0]?.fields, { serverId: 'cp-x', servers: 12, serverIds: ids.slice(0, 10) });
});

test('the same servers are warned of once, other ones again', () => {
  const { logger, lines } = recordingLogger();
  const check = ownServerCheck(() => 'cp-x', logger);
  for (const table of [tableOf('cp-a'), tableOf('cp-a'), tableOf('cp-b')]) check(table);
  assert.deepEqual(
    lines.map(({ level, fields: { serverIds } }) => [level, serverIds]),
    [
      ['warn', ['cp-a']],
      ['warn', ['cp-b']],
    ],
  );
});

test('the warning ends when the server is found, and is given anew when it is lost again', () => {
  const { logger, lines } = recordingLogger();
  const check = ownServerCheck(() => 'cp-x', logger);
  for (const table of [tableOf('cp-a'), tableOf('cp-a', 'cp-x'), tableOf('cp-a', 'cp-x'), tableOf('cp-a')]) {
    check(table);
  }
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['warn', 'info', 'warn'],
  );
});

test('a snapshot with the local server is worth no line', () => {
  const { logger, lines } = recordingLogger();
  ownServerCheck(() => 'cp-a', logger)(tableOf('cp-a', 'cp-b'));
  assert.deepEqual(lines, []);
});

test('another ID of the local server in the snapshot is told of once', () => {
  const { logger, lines } = recordingLogger();
  let id = 'endpoint-10-0-0-1-6444';
  const check = ownServerCheck(() => id, logger);
  check(tableOf('cp-b', id));
  id = 'apiserver-a';
  for (const table of [tableOf('cp-b', id), tableOf('cp-b', id)]) check(table);
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields]),
    [['info', { serverId: 'apiserver-a', before: 'endpoint-10-0-0-1-6444' }]],
  );
});
