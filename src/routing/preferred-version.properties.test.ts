import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  autoscalers,
  decisionAt,
  pods,
  schemasOf,
  server,
  tableOf,
  told,
} from '../../test/support/clusters/versioned-servers.ts';
import type { PreferredVersion } from './decision.ts';
import { preferredMinor } from './preferred-version.ts';

const minors = ['1.29', '1.30', '1.31', '1.36'] as const;
const arbitraryServers = fc
  .array(fc.record({ minor: fc.constantFrom(...minors), reachable: fc.boolean(), stale: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((servers) =>
    Object.fromEntries(
      servers.map(({ minor, reachable, stale }, index) => [
        `s${index}`,
        server(minor, { withoutAddress: !reachable, ...(stale ? { stale } : {}) }),
      ]),
    ),
  );
const arbitraryVersion = fc.constantFrom<PreferredVersion>('majority', 'newest', 'oldest', '1.30', '1.33');
const arbitraryMethod = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE');
const arbitraryTarget = fc.constantFrom(autoscalers, pods, '/apis/example.com/v1/widgets');

describe('properties', () => {
  test('every router with one snapshot chooses one version, as long as one server of it can be asked', () => {
    fc.assert(
      fc.property(arbitraryServers, arbitraryVersion, arbitraryMethod, (servers, version, method) => {
        const table = tableOf(servers);
        const chosen = new Set<string | undefined>();
        for (const { id, origin } of table.servers) {
          if (origin === undefined) continue;
          const decision = decisionAt(table, id, autoscalers, { version, method });
          const asked = decision.decision === 'local' ? [id] : decision.candidates.map((each) => each.id);
          for (const each of asked) chosen.add(table.server(each)?.minor);
        }
        // A router whose own server has no address for others knows of one server more.
        assert.ok(chosen.size <= 1, [...chosen].join());
      }),
    );
  });

  test('a cluster of one version, and `local`, decide exactly as without a comparison', () => {
    fc.assert(
      fc.property(
        arbitraryServers,
        fc.boolean(),
        arbitraryTarget,
        arbitraryMethod,
        (servers, isOneVersion, target, method) => {
          const alike = Object.fromEntries(
            Object.entries(servers).map(([id, each]) => [
              id,
              isOneVersion ? { ...each, version: 'v1.31.1', schemas: schemasOf('1.31') } : each,
            ]),
          );
          const uncompared = Object.fromEntries(
            Object.entries(alike).map(([id, { schemas: _schemas, ...each }]) => [id, each]),
          );
          const version = isOneVersion ? 'majority' : 'local';
          for (const id of [...Object.keys(servers), undefined]) {
            const one = decisionAt(tableOf(alike), id, target, { method, version });
            const other = decisionAt(tableOf(uncompared), id, target, { method, version });
            assert.equal(told(one), told(other));
          }
        },
      ),
    );
  });

  test('no candidate is an older version than one that could be asked in its place', () => {
    fc.assert(
      fc.property(arbitraryServers, arbitraryVersion, (servers, version) => {
        const table = tableOf(servers);
        const decision = decisionAt(table, undefined, autoscalers, { version });
        if (decision.decision !== 'peer' || decision.versions === undefined) return;
        const ids = new Set(decision.candidates.map(({ id }) => id));
        for (const { reachable } of decision.versions.others) {
          for (const { id } of reachable) assert.ok(!ids.has(id));
        }
        const named = ids.size + decision.versions.others.flatMap(({ reachable }) => reachable).length;
        assert.equal(named, table.reachable.length, 'nobody is left out');
      }),
    );
  });

  test('a change of a moment ago comes out alike in however many snapshots, and in whatever order, the changes were noticed', () => {
    const servers = { a: server('1.35'), b: server('1.36'), c: server('1.36') };
    const start = Date.UTC(2026, 0, 31);
    const minor = fc.constantFrom('1.34', '1.35', '1.36', undefined);
    const change = fc.record({ from: minor, to: minor, seconds: fc.integer({ min: 0, max: 60 }) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 6 }), fc.integer({ min: -1, max: 61 }), (given, seconds) => {
        const changes = given.map(({ from, to, seconds: after }, index) => ({
          server: `s${index}`,
          at: new Date(start + after * 1_000).toISOString(),
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
        }));
        const [one, other] = [changes, changes.toReversed()].map((each) => {
          const { comparison } = tableOf(servers, { versionChanges: each });
          return preferredMinor({ comparison }, undefined, start + seconds * 1_000);
        });
        assert.equal(one, other);
        const over = tableOf(servers, { versionChanges: changes });
        assert.equal(
          preferredMinor(over, undefined, start + 61_000),
          '1.36',
          'once all is past, what is there counts',
        );
      }),
    );
  });
});
