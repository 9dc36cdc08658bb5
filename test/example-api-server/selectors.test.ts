import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFieldSelector, parseLabelSelector } from '../../demo/example-api-server/selectors.ts';

const badRequest = (error: unknown): boolean => (error as { reason?: string }).reason === 'BadRequest';

describe('a label selector', () => {
  const object = { metadata: { labels: { app: 'web', tier: 'front' } } };
  const cases: readonly (readonly [selector: string, matches: boolean])[] = [
    ['', true],
    ['app=web', true],
    ['app==web,tier=front', true],
    ['app=web,tier=back', false],
    ['app!=web', false],
    ['zone!=a', true],
    ['app in (api, web),tier', true],
    ['app notin (api)', true],
    ['zone notin (a)', true],
    ['zone in (a)', false],
    ['!zone', true],
    ['!app', false],
    ['zone', false],
    ['app=', false],
  ];
  for (const [selector, matches] of cases) {
    it(`${JSON.stringify(selector)} ${matches ? 'matches' : 'does not match'}`, () => {
      assert.equal(parseLabelSelector(selector)(object), matches);
    });
  }
  for (const selector of ['app=web=x', 'app in web', '=x', 'a b']) {
    it(`refuses ${JSON.stringify(selector)}`, () => {
      assert.throws(() => parseLabelSelector(selector), badRequest);
    });
  }
});

describe('a field selector', () => {
  const pods = { group: '', resource: 'pods' };
  const pod = { metadata: { name: 'a', namespace: 'default' }, status: { phase: 'Running' } };
  const cases: readonly (readonly [selector: string, matches: boolean])[] = [
    ['metadata.name=a', true],
    ['metadata.name==a,metadata.namespace=default', true],
    ['metadata.name!=a', false],
    ['status.phase=Running', true],
    ['metadata.name=a\\,b', false],
  ];
  for (const [selector, matches] of cases) {
    it(`${selector} ${matches ? 'matches' : 'does not match'}`, () => {
      assert.equal(parseFieldSelector(selector, pods)(pod), matches);
    });
  }
  it('refuses a field that the resource cannot be selected by', () => {
    assert.throws(() => parseFieldSelector('spec.color=red', pods), /field label not supported: spec\.color/);
    assert.throws(() => parseFieldSelector('metadata.name', pods), badRequest);
  });
});
