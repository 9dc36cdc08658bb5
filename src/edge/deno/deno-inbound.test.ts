import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { denoInbound, requestTarget } from './deno-inbound.ts';
import type { DenoServeInfo } from './deno-runtime.ts';

const info: DenoServeInfo = { remoteAddr: { hostname: '192.0.2.7' }, completed: Promise.resolve() };

/** A request as Deno makes it: its `url` is text that no parser has seen. */
function rawRequest(url: string, init: RequestInit = {}): Request {
  const request = new Request('https://router.example/', init);
  Object.defineProperty(request, 'url', { value: url });
  return request;
}

describe('the target of a request on Deno', () => {
  for (const target of [
    '/',
    '/api/v1/namespaces/a%2Fb/pods;x/?limit=5&a=%3D',
    '//double',
    '/api/../x',
    '/x?',
    '/a?b=https://other/c#d',
  ]) {
    test(`${target} is taken as it came`, () => {
      assert.equal(requestTarget(`https://router.example:6443${target}`, 'router.example:6443'), target);
      assert.equal(requestTarget(`https://router.example:6443${target}`, null), target, 'HTTP/2');
    });
  }

  for (const [attack, url, host] of [
    ['a Host with a path in it', 'https://router.example/evil/api', 'router.example/evil'],
    ['a Host with a query in it', 'https://router.example?x=/api', 'router.example?x='],
    ['a Host with a fragment in it', 'https://router.example#/api', 'router.example#'],
    ['an absolute-form with another authority', 'https://other.example/api', 'router.example'],
    ['an absolute-form with another scheme', 'http://router.example/api', 'router.example'],
    ['a Host that another name begins with', 'https://router.example/api', 'router.ex'],
    ['no path', 'https://router.example', 'router.example'],
  ] as const) {
    test(`${attack} is refused`, () => {
      assert.equal(requestTarget(url, host), undefined);
      const taken = denoInbound(rawRequest(url, { headers: { host } }), info);
      assert.equal(taken.ok, false);
    });
  }
});

describe('a request on Deno', () => {
  const taken = (url: string, init?: RequestInit) => denoInbound(rawRequest(url, init), info);

  test('is handed on with the address of its sender and the lines that came', () => {
    const result = taken('https://router.example/api', { headers: { host: 'router.example', 'X-A': 'b' } });
    assert.ok(result.ok);
    assert.deepEqual(result.inbound.connection, { remoteAddress: '192.0.2.7' });
    assert.deepEqual([...result.inbound.headers], ['host', 'router.example', 'x-a', 'b']);
  });

  for (const name of ['Impersonate-User', 'impersonate-group', 'Impersonate-Extra-Scopes']) {
    test(`is refused with a comma in ${name}: it may have been two lines`, () => {
      const headers = new Headers([
        [name, 'a'],
        [name, 'b'],
      ]);
      const result = taken('https://router.example/api', { headers });
      assert.ok(!result.ok);
      assert.match(result.issue, new RegExp(name, 'i'));
    });
  }

  test('passes with one impersonated group', () => {
    assert.ok(taken('https://router.example/api', { headers: { 'impersonate-group': 'a' } }).ok);
  });

  test('is left to the router, whatever its path is like: it is judged there', () => {
    for (const target of ['/api/../x', '/api/%2e%2e/x', '/api\\x', '/é', '/a#b']) {
      const result = taken(`https://router.example${target}`);
      assert.ok(result.ok, target);
      assert.equal(result.inbound.target, target);
    }
  });

  test('has no body over HTTP/1.1 unless it announces one', () => {
    const bodyOf = (headers: Record<string, string>) => {
      const result = taken('https://h/api', { method: 'DELETE', headers, body: '' });
      assert.ok(result.ok);
      return result.inbound.body();
    };
    assert.equal(bodyOf({ host: 'h' }), null);
    assert.ok(bodyOf({ host: 'h', 'content-length': '2' }));
    assert.ok(bodyOf({ host: 'h', 'transfer-encoding': 'chunked' }));
    assert.ok(bodyOf({}), 'HTTP/2 announces nothing');
  });

  test('is over when its response has been sent, and when its client went away', async () => {
    for (const completed of [Promise.resolve(), Promise.reject(new Error('gone'))]) {
      const result = denoInbound(rawRequest('https://h/api'), { ...info, completed });
      assert.ok(result.ok);
      const { inbound } = result;
      await new Promise<void>((resolve) => {
        inbound.onFinished?.(resolve);
      });
    }
  });
});
