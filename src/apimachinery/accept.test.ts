import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type MediaTypeOffer, negotiateMediaType, parseAccept } from './accept.ts';

const json: MediaTypeOffer = { mediaType: 'application/json' };
const yaml: MediaTypeOffer = { mediaType: 'application/yaml' };
const v2: MediaTypeOffer = {
  mediaType: 'application/json',
  conversion: { group: 'apidiscovery.k8s.io', version: 'v2', kind: 'APIGroupDiscoveryList' },
};
const v2beta1: MediaTypeOffer = {
  mediaType: 'application/json',
  conversion: { group: 'apidiscovery.k8s.io', version: 'v2beta1', kind: 'APIGroupDiscoveryList' },
};
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const aggregatedBeta = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

function chosen(accept: string | undefined, offers = [v2, v2beta1, json, yaml]): MediaTypeOffer | undefined {
  return negotiateMediaType(parseAccept(accept), offers)?.offer;
}

describe('an Accept header', () => {
  test('that is absent or empty gets the first plain offer', () => {
    assert.equal(chosen(undefined), json);
    assert.equal(chosen(''), json);
    assert.equal(chosen('', [v2]), undefined);
  });

  test('with wildcards gets the first plain offer, never a conversion nobody asked for', () => {
    for (const accept of ['*/*', '*', 'application/*', 'text/html, */*;q=0.1']) {
      assert.equal(chosen(accept), json, accept);
    }
    assert.equal(chosen('*/*', [v2, v2beta1]), undefined);
    assert.equal(chosen('*/json'), undefined);
  });

  test('as kubectl 1.27 and 1.33 send it gets the newest form that is asked for', () => {
    assert.equal(chosen(`${aggregatedBeta},application/json`), v2beta1);
    assert.equal(chosen(`${aggregated},${aggregatedBeta},application/json`), v2);
  });

  test('may name its parameters in any order, case and spacing, with others between them', () => {
    assert.equal(
      chosen('Application/JSON ; charset=utf-8; AS=APIGroupDiscoveryList ;v=v2; foo; g=apidiscovery.k8s.io'),
      v2,
    );
  });

  test('that names a conversion in part, or one that is unknown, does not get the plain form', () => {
    for (const accept of [
      'application/json;g=apidiscovery.k8s.io',
      'application/json;g=apidiscovery.k8s.io;v=v2',
      'application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList',
      'application/json;g=meta.k8s.io;v=v1;as=Table',
    ]) {
      assert.equal(chosen(accept), undefined, accept);
      assert.equal(chosen(`${accept},application/yaml;q=0.1`), yaml, accept);
    }
  });

  test('gives its parameters to whoever asks for them', () => {
    const negotiated = negotiateMediaType(parseAccept(`${aggregated};profile=nopeer`), [v2]);
    assert.equal(negotiated?.parameters.get('profile'), 'nopeer');
  });
});

describe('quality', () => {
  test('decides, whatever the order of the clauses', () => {
    assert.equal(chosen('application/json;q=0.5,application/yaml;q=0.9'), yaml);
    assert.equal(chosen(`${aggregated};q=0.5,${aggregatedBeta};q=0.7`), v2beta1);
  });

  test('that is equal leaves the more specific clause first, else the client’s order', () => {
    assert.equal(chosen('*/*,application/yaml'), yaml);
    assert.equal(chosen('application/*,application/yaml'), yaml);
    assert.equal(chosen('application/yaml,application/json'), yaml);
  });

  test('that cannot be read comes last and refuses nothing', () => {
    for (const q of ['x', '', '-1', '2', '1.1', 'NaN', '0x1']) {
      assert.equal(chosen(`application/json;q=${q},application/yaml;q=0.001`), yaml, q);
      assert.equal(chosen(`application/json;q=${q}`), json, q);
    }
  });

  test('of zero refuses, and a wildcard does not bring the form back', () => {
    assert.equal(chosen('application/json;q=0'), undefined);
    assert.equal(chosen('application/json;q=0.000,*/*'), yaml);
    assert.equal(chosen('*/*;q=0,application/yaml'), yaml);
    assert.equal(chosen(`${aggregated};q=0,${aggregatedBeta},application/json`), v2beta1);
  });
});

test('a clause that is no media range is left out, the others count', () => {
  assert.deepEqual(
    parseAccept('json, a/b/c, /, application/, /json, ,;q=1')?.map(
      ({ type, subtype }) => `${type}/${subtype}`,
    ),
    [],
  );
  assert.equal(chosen('json,,application/yaml'), yaml);
});

test('attack: one with more than 64 clauses or 8 KiB counts as absent', () => {
  const most = `${'text/html,'.repeat(63)}application/yaml`;
  assert.equal(chosen(most), yaml);
  assert.equal(chosen(`text/html,${most}`), json);
  assert.equal(chosen(`application/yaml;x=${'y'.repeat(8 * 1024)}`), json);
  assert.equal(parseAccept(','.repeat(1_000_000)), undefined);
});

test('no header makes negotiation fail, and what it chooses is always an offer', () => {
  const offers = [v2, v2beta1, json, yaml];
  const piece = fc.constantFrom(
    'application',
    'json',
    '*',
    '/',
    ';',
    ',',
    '=',
    'q',
    '0',
    '1',
    '.',
    ' ',
    'as',
    'v2',
    '"',
  );
  const headers = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece).map((pieces) => pieces.join('')),
  );
  fc.assert(
    fc.property(headers, (header) => {
      const negotiated = negotiateMediaType(parseAccept(header), offers);
      assert.ok(negotiated === undefined || offers.includes(negotiated.offer));
    }),
  );
});
