import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { allCases, caseGroups } from './cases/index.ts';
import { capabilities } from './conformance-case.ts';
import { casesSection, figuresSection, sectionOf, withSection } from './page.ts';
import { reservationFor } from './run-cases.ts';
import { runtimes } from './runtimes/index.ts';

const page = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');

test('test/conformance/README.md shows what the runs give: each case holds, or has the reason that its runtime declares', () => {
  const declared = casesSection({
    groups: caseGroups,
    runtimes,
    // The test of each runtime fails for a case that is declared to hold and does not.
    outcome: (runtime, each) => reservationFor(runtime, each) ?? { kind: 'holds' },
  });
  assert.equal(
    sectionOf(page, 'cases'),
    declared,
    'test/conformance/README.md says something else: npm run lab -- conformance --write',
  );
});

test('test/conformance/README.md has figures of every runtime', () => {
  const [head] = figuresSection(runtimes, new Map()).split('\n');
  const [shown, , ...rows] = sectionOf(page, 'figures').split('\n');
  assert.equal(shown, head);
  assert.ok(rows.length > 0);
});

test('a case is told apart by its ID', () => {
  const ids = allCases.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test('no runtime excuses a case that there is not, or lacks what no case needs', () => {
  const ids = new Set(allCases.map(({ id }) => id));
  const needed = new Set(allCases.flatMap(({ needs = [] }) => needs));
  assert.deepEqual(new Set(Object.keys(capabilities)), needed);
  for (const { id, exceptions = {} } of runtimes) {
    for (const excused of Object.keys(exceptions)) assert.ok(ids.has(excused), `${id}: ${excused}`);
  }
});

test('Node and workerd have no reservation that the decision list, security rules or bodies would fall under', () => {
  for (const runtime of runtimes.filter(({ id }) => /^(?:node|miniflare|workerd)/.test(id))) {
    const everywhere = runtime.id.startsWith('node')
      ? /^(?:assertions|bodies|discovery|failures|own-paths)\//
      : /^(?:bodies|discovery|failures|own-paths)\//;
    for (const each of allCases.filter(({ id }) => everywhere.test(id))) {
      const reservation = reservationFor(runtime, each);
      // HTTP/2 has neither connection headers nor expectations on its own.
      const isInHttp1 = each.needs?.some((need) => need === 'http1' || need === 'http1Bytes') === true;
      if (isInHttp1 && runtime.id === 'node-http2') continue;
      assert.equal(reservation, undefined, `${runtime.id}: ${each.id}`);
    }
  }
});

test('a section of a page is replaced, and the rest of it stays', () => {
  const before = sectionOf(page, 'figures');
  const changed = withSection(page, 'figures', 'changed');
  assert.equal(sectionOf(changed, 'figures'), 'changed');
  assert.equal(withSection(changed, 'figures', before), page);
  assert.throws(() => sectionOf('no marks', 'cases'), /has no section/);
});
