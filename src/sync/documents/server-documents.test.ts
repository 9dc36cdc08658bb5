import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonDocument } from '../../../test/support/api-servers/fake-server-documents.ts';
import { getJson, listObjects, type ReadErrorCode, type ServerDocument } from './server-documents.ts';

const json = 'application/json';

function serverWith(document: ServerDocument) {
  return { get: async () => document };
}

const notServed: Record<string, ServerDocument> = {
  'a Status': { status: 404, contentType: json, body: '{"kind":"Status","code":404}' },
  'the plain text of the mux': {
    status: 404,
    contentType: 'text/plain; charset=utf-8',
    body: '404 page not found\n',
  },
};

const issues: Record<string, readonly [ReadErrorCode, ServerDocument]> = {
  'a server error': ['UnexpectedStatus', { status: 500, contentType: json, body: '{}' }],
  'a redirect': ['UnexpectedStatus', { status: 302, contentType: json, body: '{}' }],
  'an unauthorized request': ['UnexpectedStatus', { status: 401, contentType: json, body: '{}' }],
  'an HTML page': ['UnexpectedContentType', { status: 200, contentType: 'text/html', body: '{}' }],
  'a response without a content type': [
    'UnexpectedContentType',
    { status: 200, contentType: '', body: '{}' },
  ],
  'half a document': ['InvalidDocument', { status: 200, contentType: json, body: '{"kind":"APIGr' }],
  'an empty document': ['InvalidDocument', { status: 200, contentType: json, body: '' }],
  'the HTML 404 of a load balancer': [
    'UnexpectedStatus',
    { status: 404, contentType: 'text/html', body: '<h1>Not Found</h1>' },
  ],
  'the plain-text 404 of a load balancer': [
    'UnexpectedStatus',
    { status: 404, contentType: 'text/plain', body: 'no such backend' },
  ],
  'a 404 in JSON of some other kind': [
    'UnexpectedStatus',
    { status: 404, contentType: json, body: '{"error":"no route"}' },
  ],
  'a 404 that breaks off': ['UnexpectedStatus', { status: 404, contentType: json, body: '{"kind":"Sta' }],
};

for (const [name, document] of Object.entries(notServed)) {
  test(`${name} says that the server does not serve it`, async () => {
    assert.equal(await getJson(serverWith(document), '/apis/a/v1', undefined), undefined);
  });
}

for (const [name, [code, document]] of Object.entries(issues)) {
  test(`${name} is an error, not a document`, async () => {
    await assert.rejects(getJson(serverWith(document), '/apis/a/v1', undefined), {
      name: 'ReadError',
      code,
    });
  });
}

test('parameters and case of the media type do not matter', async () => {
  const document = { status: 200, contentType: 'Application/JSON;g=apidiscovery.k8s.io', body: '{"a":1}' };
  assert.deepEqual(await getJson(serverWith(document), '/apis', undefined), { a: 1 });
});

test('of a 403 the message names who may not do what, in the words of the API server', async () => {
  const message = 'leases.coordination.k8s.io is forbidden: User "reader" cannot list resource "leases"';
  const forbidden = (body: string) =>
    getJson(serverWith({ status: 403, contentType: json, body }), '/leases?limit=500', undefined);
  const status = (text: string) => JSON.stringify({ kind: 'Status', code: 403, message: text });
  await assert.rejects(forbidden(status(message)), {
    message: `/leases returned 403 instead of 200: ${message}`,
  });
  await assert.rejects(forbidden('<h1>Forbidden</h1>'), { message: '/leases returned 403 instead of 200' });
  await assert.rejects(
    forbidden(status('long '.repeat(10_000))),
    ({ message: told }: Error) => told.length < 400,
  );
});

test('follows continue tokens to the last page', async () => {
  const asked: string[] = [];
  const pages = [
    { items: [1, 2], metadata: { continue: 'a token/with=reserved&characters' } },
    { items: null, metadata: { continue: 'second' } },
    { items: [3], metadata: { continue: '' } },
  ];
  const documents = {
    get: async (path: string) => {
      asked.push(path);
      return jsonDocument(pages[asked.length - 1]);
    },
  };
  assert.deepEqual((await listObjects(documents, '/apis/g/v1/things', undefined))?.items, [1, 2, 3]);
  assert.deepEqual(asked, [
    '/apis/g/v1/things?limit=500',
    '/apis/g/v1/things?limit=500&continue=a%20token%2Fwith%3Dreserved%26characters',
    '/apis/g/v1/things?limit=500&continue=second',
  ]);
});

test('a page that fails fails the list', async () => {
  let pages = 0;
  const documents = {
    get: async () =>
      ++pages === 1
        ? jsonDocument({ items: [1], metadata: { continue: 'expired' } })
        : jsonDocument({ kind: 'Status', code: 410 }, 410),
  };
  await assert.rejects(listObjects(documents, '/apis/g/v1/things', undefined), { code: 'UnexpectedStatus' });
});

test('a server that never ends its list does not hold the reader forever', async () => {
  const documents = { get: async () => jsonDocument({ items: [], metadata: { continue: 'again' } }) };
  await assert.rejects(listObjects(documents, '/apis/g/v1/things', undefined), /more than 1000 pages/);
});
