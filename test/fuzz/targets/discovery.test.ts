import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { mutated } from '../../../packages/http2/test/fuzz/mutation.ts';
import { parseAggregated } from '../../../src/discovery/forms/aggregated.ts';
import { DiscoveryDocumentError } from '../../../src/discovery/forms/parse-document.ts';
import { mergeDiscovery } from '../../../src/discovery/merge-discovery.ts';
import type { APIGroupDiscovery } from '../../../src/snapshot/format/schema.ts';
import { fuzz } from '../fuzz-target.ts';

const recorded = readFileSync(
  new URL('../../fixtures/kubernetes-1.26-batch-disabled/b/aggregated_apis.json', import.meta.url),
  'utf8',
);
const document = JSON.parse(recorded) as { readonly items: readonly object[] };
/** Part of the recorded document, small enough to be changed thousands of times. */
const excerpt = JSON.stringify({ ...document, items: document.items.slice(0, 3) });
const healthy = [...parseAggregated(document)];

const pieces = [
  ...['{', '}', '[', ']', ',', ':', '"', 'null', 'true', '0', '{}', '[]', '""', '"name":', '"versions":[]'],
  ...['"__proto__":{}', '"resource":"../x"', '"verbs":["get","get"]', '"version":"v1"', '"scope":"Galactic"'],
];

/** `group/version resource` of all that can be asked for. */
function served(groups: readonly APIGroupDiscovery[]): Set<string> {
  const lines = groups.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version, resources = [] }) =>
      resources.map(({ resource }) => `${metadata.name ?? ''}/${version} ${resource}`),
    ),
  );
  return new Set(lines);
}

function parse(text: string): readonly APIGroupDiscovery[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  try {
    return [...parseAggregated(value)];
  } catch (error) {
    assert.ok(error instanceof DiscoveryDocumentError, String(error));
    return undefined;
  }
}

fuzz<string>({
  name: 'discovery',
  runs: 300,
  arbitrary: mutated(fc.constant(excerpt), pieces),
  holds(text) {
    const groups = parse(text);
    if (groups === undefined) return;
    const view = (serverId: string, each: readonly APIGroupDiscovery[]) => ({
      serverId,
      version: 'v1.26.0',
      groups: each,
      stale: false,
    });
    const merged = mergeDiscovery([view('healthy', healthy), view('odd', groups)]);
    const other = mergeDiscovery([view('odd', groups), view('healthy', healthy)]);
    assert.equal(
      JSON.stringify(merged.groups),
      JSON.stringify(other.groups),
      'the order of servers means nothing',
    );
    // One odd server hides nothing of the others, and nothing is shown that none serves.
    assert.deepEqual(
      served(merged.groups),
      new Set(
        [...served(merged.groups)].filter((each) => served(healthy).has(each) || served(groups).has(each)),
      ),
    );
    for (const each of served(healthy)) assert.ok(served(merged.groups).has(each), each);
  },
});
