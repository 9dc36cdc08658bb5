import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { rememberingRequests } from './remembered-requests.ts';
import { parseRequestInfo } from './request-info.ts';
import { RequestInfoError } from './request-info-error.ts';

const jobs = '/apis/batch/v1/namespaces/default/jobs';

describe('requests that come again', () => {
  test('are read twice and then known, as the same object', () => {
    const read = rememberingRequests();
    const [first, second, third] = [read('GET', jobs), read('GET', jobs), read('GET', jobs)];
    assert.notEqual(first, second);
    assert.equal(second, third);
  });

  test('attack: names of long targets do not keep the targets', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const read = rememberingRequests();
    const heapNow = () => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = heapNow();
    const kept = Array.from({ length: 500 }, (_, index) => {
      const query = `${index}${'x'.repeat(64_000)}`;
      const { apiGroup, resource } = read(
        'GET',
        `/apis/group-${index}.example.com/v1/some-resources?${query}`,
      );
      return { apiGroup, resource };
    });
    assert.ok(heapNow() - before < 8 * 1024 * 1024);
    assert.equal(kept[1]?.apiGroup, 'group-1.example.com');
  });

  test('a request that came once is not kept', () => {
    const read = rememberingRequests();
    const targets = Array.from({ length: 20_000 }, (_, index) => `${jobs}/${index}`);
    const first = targets.map((target) => read('GET', target));
    const again = targets.map((target) => read('GET', target));
    assert.ok(again.every((requestInfo, index) => requestInfo !== first[index]));
  });

  test('methods are told apart, and all of the query counts', () => {
    const read = rememberingRequests(1);
    for (let turn = 0; turn < 3; turn++) {
      assert.equal(read('GET', jobs).verb, 'list');
      assert.equal(read('GET', jobs).verb, 'list');
      assert.equal(read('PUT', jobs).verb, 'update');
      assert.equal(read('GET', `${jobs}?watch=1`).verb, 'watch');
      assert.equal(read('GET', `${jobs}?watch=0`).verb, 'list');
    }
  });

  test('two methods on one target, as leases are read and renewed, are both known', () => {
    const read = rememberingRequests();
    for (let turn = 0; turn < 2; turn++) for (const method of ['GET', 'PUT']) read(method, jobs);
    const [get, put] = [read('GET', jobs), read('PUT', jobs)];
    assert.deepEqual([read('GET', jobs) === get, read('PUT', jobs) === put], [true, true]);
  });

  test('one that is known stays so while others pass through its slot', () => {
    const read = rememberingRequests(1);
    read('GET', jobs);
    const known = read('GET', jobs);
    for (let index = 0; index < 10; index++) {
      read('GET', `${jobs}/${index}`);
      assert.equal(read('GET', jobs), known);
    }
  });

  test('a refused target is refused each time', () => {
    const read = rememberingRequests();
    for (let turn = 0; turn < 4; turn++) {
      assert.throws(() => read('GET', '/api/v1/../secrets'), RequestInfoError);
      assert.throws(() => read('GET', '/api/v1/watch'), RequestInfoError);
    }
  });

  test('a very long target is not kept', () => {
    const read = rememberingRequests();
    const target = `${jobs}?labelSelector=${'a'.repeat(300)}`;
    const infos = [1, 2, 3, 4].map(() => read('GET', target));
    assert.equal(new Set(infos).size, 4);
  });

  test('whatever came before, what is read is what parseRequestInfo says', () => {
    const method = fc.constantFrom('GET', 'HEAD', 'POST', 'DELETE', 'get');
    const target = fc
      .array(
        fc.constantFrom('api', 'apis', 'v1', 'watch', 'namespaces', 'a', 'pods', '%2e', '', '?watch=1'),
        {
          maxLength: 7,
        },
      )
      .map((segments) => `/${segments.join('/')}`);
    fc.assert(
      fc.property(fc.array(fc.tuple(method, target), { minLength: 20, maxLength: 60 }), (requests) => {
        // Few slots, so that they fall into each other's.
        const read = rememberingRequests(4);
        for (const [someMethod, someTarget] of requests) {
          assert.deepEqual(
            outcome(read, someMethod, someTarget),
            outcome(parseRequestInfo, someMethod, someTarget),
          );
        }
      }),
    );
  });
});

function outcome(read: typeof parseRequestInfo, method: string, target: string): unknown {
  try {
    return read(method, target);
  } catch (error) {
    assert.ok(error instanceof RequestInfoError);
    return error.code;
  }
}
