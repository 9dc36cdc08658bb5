import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ServerOptions, snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import type { PreferredVersion } from './decision.ts';
import { policyWarning } from './policy-warning.ts';

const group = '/apis/admissionregistration.k8s.io/v1';
const policies = `${group}/mutatingadmissionpolicies`;
const start = Date.UTC(2026, 0, 31);
const known = ['admissionregistration.k8s.io/v1/validatingadmissionpolicies', 'v1/pods'];
const older: ServerOptions = { serves: known, version: 'v1.35.0' };
const newer: ServerOptions = {
  serves: [...known, 'admissionregistration.k8s.io/v1/mutatingadmissionpolicies'],
  version: 'v1.36.0',
};
const oneOfThree = { a: older, b: older, c: newer };

function warningOf(
  method: string,
  target: string,
  {
    servers = oneOfThree,
    preferredVersion = 'majority',
    isComing = false,
  }: {
    servers?: Readonly<Record<string, ServerOptions>>;
    preferredVersion?: PreferredVersion;
    isComing?: boolean;
  } = {},
): string | undefined {
  const at = new Date(start + 10_000).toISOString();
  const versionChanges = isComing ? [{ server: 'b', from: '1.35', to: '1.36', at }] : [];
  const table = buildRoutingTable(snapshotOf(servers, { versionChanges }));
  return policyWarning(parseRequestInfo(method, target), table, { now: start + 2_500, preferredVersion });
}

describe('the warning about a policy that does not act yet', () => {
  test('names the version that gets writes, from when the policy acts, and the setting by which it would at once', () => {
    assert.equal(
      warningOf('POST', policies),
      '299 - "stored, but it does not act yet: writes go to API servers of version 1.35 (--preferred-version=majority), which do not know mutatingadmissionpolicies. It acts once most API servers know it; with --preferred-version=newest at all routers it acts at once"',
    );
    assert.match(
      warningOf('PUT', `${policies}/a`, { preferredVersion: 'oldest' }) ?? '',
      /once all API servers/,
    );
    assert.match(
      warningOf('PATCH', `${policies}/a`, { preferredVersion: '1.35' }) ?? '',
      /once a version that/,
    );
  });

  test('says in how many seconds the version changes that the snapshot foresees', () => {
    const servers = { ...oneOfThree, b: newer };
    assert.match(
      warningOf('POST', policies, { servers, isComing: true }) ?? '',
      / It acts in 8 s, when 1\.36 becomes the preferred version"$/,
    );
    assert.equal(warningOf('POST', policies, { servers }), undefined);
  });

  test('is not given where the policy acts, where versions are not led together, and for what is no policy', () => {
    assert.equal(warningOf('POST', policies, { preferredVersion: 'newest' }), undefined);
    assert.equal(warningOf('POST', policies, { preferredVersion: 'local' }), undefined);
    assert.equal(warningOf('POST', policies, { servers: { a: newer, b: newer } }), undefined);
    assert.equal(warningOf('POST', `${group}/validatingadmissionpolicies`), undefined);
    assert.equal(warningOf('GET', policies), undefined);
    assert.equal(warningOf('DELETE', `${policies}/a`), undefined);
    assert.equal(warningOf('PUT', `${policies}/a/status`), undefined);
    assert.equal(warningOf('POST', '/api/v1/namespaces/default/pods'), undefined);
  });
});
