import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allHeaders } from '../../apimachinery/raw-headers.ts';
import { WorkerInboundRequest } from './worker-inbound.ts';

const pods = 'https://edge.example/api/v1/pods';

function inboundOf(headers: Record<string, string>, cf?: unknown): WorkerInboundRequest {
  return new WorkerInboundRequest(Object.assign(new Request(pods, { headers }), { cf }), {});
}

for (const [cookies, left] of [
  ['x=1, CF_Authorization=secret', ['x=1']],
  ['CF_Authorization=secret, x=1', ['x=1']],
  ['x=1; CF_Authorization=secret; y=2, CF_AppSession=secret', ['x=1; y=2']],
  ['CF_Authorization=secret', []],
  ['x=1, y=2', ['x=1; y=2']],
  ['x=1; y="2"', ['x=1; y="2"']],
  ['x=a, b; y=2', ['x=a, b; y=2']],
] as const) {
  test(`of the cookies ${cookies} Access keeps its own, and the others stay`, () => {
    assert.deepEqual(allHeaders(inboundOf({ cookie: cookies }).headers, 'cookie'), left);
  });
}

const connecting = { 'cf-connecting-ip': '198.51.100.9' };
for (const [where, cf, address] of [
  ['Cloudflare', { colo: 'FRA' }, '198.51.100.9'],
  ['self-hosted workerd', { clientIp: '192.0.2.4:4711' }, '192.0.2.4'],
  ['self-hosted workerd, IPv6', { clientIp: '[2001:db8::4]:4711' }, '2001:db8::4'],
  ['a host that tells nothing', undefined, undefined],
  ['a runtime that fills request.cf with something else', { tlsVersion: '1.3' }, undefined],
] as const) {
  test(`the client's address on ${where} is ${address ?? 'not what a client has written'}`, () => {
    assert.equal(inboundOf(connecting, cf).connection.remoteAddress, address);
  });
}

test('the address that Cloudflare has put into X-Forwarded-For stands there once', () => {
  const headers = { ...connecting, 'x-forwarded-for': '203.0.113.7, 198.51.100.9' };
  const inbound = inboundOf(headers, { colo: 'FRA' });
  assert.deepEqual(allHeaders(inbound.headers, 'x-forwarded-for'), ['203.0.113.7']);
  const alone = inboundOf({ ...connecting, 'x-forwarded-for': '198.51.100.9' }, { colo: 'FRA' });
  assert.deepEqual(allHeaders(alone.headers, 'x-forwarded-for'), []);
});

test('an address that is none is not told', () => {
  const inbound = inboundOf({ 'cf-connecting-ip': 'evil, 10.0.0.1' }, { colo: 'FRA' });
  assert.equal(inbound.connection.remoteAddress, undefined);
});
