import assert from 'node:assert/strict';
import fc from 'fast-check';
import { mutated } from '../../../packages/http2/test/fuzz/mutation.ts';
import { parseRequestInfo } from '../../../src/apimachinery/request-info.ts';
import { decide } from '../../../src/routing/decide.ts';
import { parseSnapshotText } from '../../../src/snapshot/format/parse-snapshot.ts';
import { SnapshotError } from '../../../src/snapshot/format/snapshot-error.ts';
import { buildRoutingTable } from '../../../src/snapshot/routing-table/build-routing-table.ts';
import { parseSnapshotKeys } from '../../../src/snapshot/signing/keys.ts';
import { openSnapshot } from '../../../src/snapshot/signing/open-sealed.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../../src/snapshot/signing/seal.ts';
import { snapshotOf } from '../../support/snapshots/snapshot-builder.ts';
import { fuzz } from '../fuzz-target.ts';

const { publicJwk, privateJwk } = await generateSigningKey('EdDSA');
const parsedKeys = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
assert.ok(parsedKeys.ok);
const { keys } = parsedKeys;
const snapshot = snapshotOf(
  { a: ['v1/pods', 'v1/pods/log'], b: ['v1/pods', 'batch/v1/jobs'] },
  {
    apiServices: [
      {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        available: true,
        service: { namespace: 'n', name: 's' },
      },
    ],
    customResourceGroups: [{ group: 'example.com', version: 'v1' }],
  },
);
const json = JSON.stringify(snapshot);
const sealed = await sealSnapshot(snapshot, signingKeyOf(privateJwk));

/** The part that is signed (RFC 7515 section 5.2). The signature itself has more than one spelling. */
const signedPart = (jws: string): string => jws.split('.').slice(0, 2).join('.');

const jsonPieces = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\\u0000',
    'null',
    'true',
    '-1',
    '1e999',
    '0',
    '""',
    '{}',
    '[]',
  ],
  ...[
    '"__proto__":',
    '"constructor":',
    '"servers":[]',
    '"generation":',
    '169.254.169.254:80',
    'http://',
    '\u00ff',
  ],
];
const targets = [
  '/api/v1/pods',
  '/apis/batch/v1/jobs',
  '/apis/example.com/v1/a',
  '/apis/metrics.k8s.io/v1beta1/nodes',
  '/apis',
];

fuzz<string>({
  name: 'snapshot-text',
  runs: 400,
  arbitrary: mutated(fc.constant(json), jsonPieces),
  async holds(text) {
    const before = Object.getOwnPropertyNames(Object.prototype).length;
    const parsed = await parseSnapshotText(text);
    assert.equal(Object.getOwnPropertyNames(Object.prototype).length, before, 'prototypes stay as they are');
    if (!parsed.ok) {
      assert.ok(parsed.issues.length > 0, 'a refusal says why');
      return;
    }
    // An accepted snapshot can be used, and is what was sent.
    assert.deepEqual(parsed.snapshot, JSON.parse(text));
    const table = buildRoutingTable(parsed.snapshot);
    for (const target of targets) {
      const { decision, candidates } = decide(parseRequestInfo('GET', target), table, {
        serverId: 'a',
        localServerIsDown: false,
        query: '',
        reroutedByVerifiedPeer: false,
      });
      assert.ok(decision !== 'peer' || candidates.length > 0, target);
    }
  },
});

fuzz<{ readonly at: number; readonly text: string }>({
  name: 'sealed-snapshot',
  runs: 200,
  arbitrary: fc.record({
    at: fc.nat({ max: sealed.length }),
    text: fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9_-]{0,4}$/),
      fc.constantFrom('.', '..', '=', ' ', '\n', '+', '/', '\0'),
    ),
  }),
  async holds({ at, text }) {
    for (const changed of [
      sealed.slice(0, at) + text + sealed.slice(at),
      sealed.slice(0, at) + text + sealed.slice(at + text.length),
      sealed.slice(0, at) + text,
    ]) {
      const opened = await openSnapshot(changed, keys).catch((error: unknown) => {
        assert.ok(error instanceof SnapshotError, String(error));
        return undefined;
      });
      if (opened === undefined) continue;
      assert.equal(signedPart(changed), signedPart(sealed));
      assert.deepEqual(opened.snapshot, snapshot);
    }
  },
});
