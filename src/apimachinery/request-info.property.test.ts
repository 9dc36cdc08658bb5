import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseRequestInfo, type RequestInfo } from './request-info.ts';
import { RequestInfoError } from './request-info-error.ts';

const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'get');
const segment = fc.constantFrom(
  ...['api', 'apis', 'v1', 'apps', 'namespaces', 'ns', 'status', 'watch', 'proxy', 'pods', 'a', '', 'log'],
  ...[
    '.',
    '..',
    '...',
    '%2e',
    '%2E.',
    '%2F',
    '..%2f',
    '%5C',
    '\\',
    '%252e',
    '%00',
    '%',
    '%C3%A9',
    ';',
    '\u00e9',
  ],
);
function parse(verb: string, pathWithQuery: string): RequestInfo | undefined {
  try {
    return parseRequestInfo(verb, pathWithQuery);
  } catch (error) {
    assert.ok(error instanceof RequestInfoError, `threw ${String(error)}`);
    return undefined;
  }
}

const word = fc
  .stringMatching(/^[a-z][a-z0-9]{0,8}$/)
  .filter((text) => !/^(watch|proxy|namespaces|status|finalize)$/.test(text));

test('what a path was built from is read back from it', () => {
  const built = fc.record({
    group: fc.option(word),
    version: word,
    namespace: fc.option(word),
    resource: word,
    name: word,
    subresource: fc.option(word),
  });
  fc.assert(
    fc.property(built, ({ group, version, namespace, resource, name, subresource }) => {
      const path = [
        group === null ? '/api' : `/apis/${group}`,
        version,
        ...(namespace === null ? [] : ['namespaces', namespace]),
        resource,
        name,
        ...(subresource === null ? [] : [subresource]),
      ].join('/');
      assert.deepEqual(parseRequestInfo('GET', path), {
        isResourceRequest: true,
        path,
        verb: 'get',
        apiPrefix: group === null ? 'api' : 'apis',
        apiGroup: group ?? '',
        apiVersion: version,
        namespace: namespace ?? '',
        resource,
        subresource: subresource ?? '',
        name,
        parts: subresource === null ? [resource, name] : [resource, name, subresource],
        fieldSelector: '',
        labelSelector: '',
      });
    }),
  );
});

test('percent-encoding any part of an accepted path, slashes included, changes nothing', () => {
  const plain = fc
    .array(fc.constantFrom('api', 'apis', 'v1', 'namespaces', 'watch', 'pods', 'a', '', 'status'), {
      maxLength: 8,
    })
    .map((segments) => `/${segments.join('/')}`);
  fc.assert(
    fc.property(method, plain, fc.infiniteStream(fc.boolean()), (verb, path, choices) => {
      const encoded = path.replace(/(?!^)./g, (character) =>
        choices.next().value ? `%${character.charCodeAt(0).toString(16)}` : character,
      );
      assert.deepEqual(parse(verb, encoded), parse(verb, path));
    }),
    { numRuns: 1000 },
  );
});

test('slashes around an accepted path change nothing but the path', () => {
  fc.assert(
    fc.property(method, fc.array(segment, { maxLength: 7 }), (verb, segments) => {
      const path = `/${segments.join('/')}`;
      const inner = parse(verb, path);
      const outer = parse(verb, `//${path}//`);
      assert.equal(outer === undefined, inner === undefined);
      if (inner !== undefined && outer !== undefined) assert.deepEqual({ ...outer, path: inner.path }, inner);
    }),
    { numRuns: 1000 },
  );
});
