import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonDocument } from '../../test/support/fake-server-documents.ts';
import { listObjects } from './server-documents.ts';

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
  assert.deepEqual(await listObjects(documents, '/apis/g/v1/things', undefined), [1, 2, 3]);
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
