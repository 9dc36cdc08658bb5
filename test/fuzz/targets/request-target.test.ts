import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { mutated } from '../../../packages/http2/test/fuzz/mutation.ts';
import { parseRequestInfo, type RequestInfo } from '../../../src/apimachinery/request-info.ts';
import { RequestInfoError } from '../../../src/apimachinery/request-info-error.ts';
import { fuzz } from '../fuzz-target.ts';

const vectors = JSON.parse(
  readFileSync(new URL('../../fixtures/request-info-vectors.json', import.meta.url), 'utf8'),
) as readonly (readonly [method: string, target: string])[];

/** Where path and query have their seams. */
const pieces = [
  ...[
    '/',
    '//',
    '/.',
    '/..',
    '/./',
    '/../',
    '%2e',
    '%2E%2e',
    '%2f',
    '%2F..',
    '%5c',
    '\\',
    '%00',
    '%',
    '%zz',
    ';',
  ],
  ...[
    '?',
    '#',
    '&',
    '=',
    'watch=true',
    'fieldSelector=metadata.name%3D',
    'http://evil.example/',
    '//evil.example',
  ],
  ...['api', 'apis', 'namespaces', 'proxy', 'watch', 'status', '%25', '%c0%ae', '\u00e9', ' ', '\t', '\r\n'],
];

interface Input {
  readonly method: string;
  readonly target: string;
}

function parse({ method, target }: Input): RequestInfo | undefined {
  try {
    return parseRequestInfo(method, target);
  } catch (error) {
    assert.ok(error instanceof RequestInfoError, String(error));
    return undefined;
  }
}

fuzz<Input>({
  name: 'request-target',
  runs: 3_000,
  arbitrary: fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'get', ''),
    target: mutated(fc.constantFrom(...vectors.map(([, target]) => target)), pieces),
  }),
  holds(input) {
    const info = parse(input);
    if (info === undefined) return;
    const { target } = input;
    // No URL has an empty path, and no request line an empty target.
    if (target === '') return;
    const path = target.split('?', 1)[0] ?? '';
    // No other parser reads another path there (reply-from GHSA-2q7r-29rg-6m5h), and no other host.
    const url = new URL(`https://destination.invalid${target}`);
    assert.equal(url.host, 'destination.invalid');
    // Browsers' parsers encode some characters that Go's leaves alone.
    assert.equal(decodeURIComponent(url.pathname), info.path);
    assert.equal(decodeURIComponent(path), info.path, 'what is decided on is what is forwarded');
    // Characters that some parsers take for a slash, or for an end.
    assert.doesNotMatch(info.path, /[\\\p{Cc}]/u);
    for (const segment of info.path.split('/')) assert.ok(segment !== '.' && segment !== '..', info.path);
    // The query never changes which resource it is.
    const other = parse({ method: input.method, target: path });
    assert.ok(other, 'the path alone is acceptable, too');
    for (const key of [
      'isResourceRequest',
      'apiGroup',
      'apiVersion',
      'namespace',
      'resource',
      'subresource',
    ] as const) {
      assert.equal(other[key], info[key], key);
    }
  },
});
