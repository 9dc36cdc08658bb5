import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../test/support/snapshot-builder.ts';
import { type Logger, silentLogger } from '../runtime/logger.ts';
import { buildRoutingTable, withLifetime } from '../snapshot/routing-table/build-routing-table.ts';
import { createExpiryLog } from './snapshot-expiry.ts';

test('the log says once that the snapshot is past its lifetime, and once that one is in force again', () => {
  const said: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (_fields, message) => said.push(`info ${message}`),
    warn: (_fields, message) => said.push(`warn ${message}`),
  };
  const log = createExpiryLog('serve-stale', logger);
  const table = buildRoutingTable(snapshotOf({ a: ['v1/pods'] }));
  log.look(undefined, 0);
  log.look(table, table.expiresAt - 1);
  assert.deepEqual(said, []);
  log.look(table, table.expiresAt);
  log.look(table, table.expiresAt + 1);
  assert.equal(said.length, 1);
  assert.match(said[0] ?? '', /^warn The snapshot is past its lifetime: requests are still routed by it/);
  const renewed = withLifetime(table, new Date(table.expiresAt).toISOString(), 300);
  log.look(renewed, table.expiresAt + 2);
  log.look(renewed, table.expiresAt + 3);
  assert.deepEqual(said.slice(1), ['info The snapshot in use is in force again']);
});
