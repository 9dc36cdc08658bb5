import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AuthenticationError } from '../incoming/authenticator.ts';
import { bearerToken } from './jwt-authenticator.ts';

const token = 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln';

function websocket(...protocols: readonly string[]): string[] {
  return ['Upgrade', 'websocket', 'Sec-WebSocket-Protocol', protocols.join(', ')];
}

function carried(text: string | Uint8Array): string {
  return `base64url.bearer.authorization.k8s.io.${Buffer.from(text).toString('base64url')}`;
}

describe('the bearer token of a request', () => {
  it('stands in Authorization, under any case of the scheme', () => {
    for (const line of [`Bearer ${token}`, `bearer ${token}`, `BEARER ${token} `, ` Bearer ${token}`]) {
      assert.equal(bearerToken(['authorization', line]), token);
    }
    assert.equal(bearerToken([]), undefined);
  });

  it('is not read from what kube-apiserver would not read it from', () => {
    for (const line of [
      token,
      'Bearer',
      'Bearer ',
      `Bearer  ${token}`,
      `Bearer\t${token}`,
      `Basic ${token}`,
      `Bearer ${token} more`,
      `Bearer ${token},Bearer ${token}`,
      `Bearer ${token}\u00e9`,
    ]) {
      assert.equal(bearerToken(['Authorization', line]), undefined, line);
    }
  });

  it('is refused when Authorization is there twice, whatever the lines hold', () => {
    for (const other of [`Bearer ${token}`, 'Bearer other', 'Basic abc', '']) {
      const headers = ['Authorization', `Bearer ${token}`, 'authorization', other];
      assert.throws(() => bearerToken(headers), AuthenticationError);
    }
  });

  it('may stand in a WebSocket subprotocol', () => {
    assert.equal(bearerToken(websocket('v5.channel.k8s.io', carried(token))), token);
    const lines = [
      'upgrade',
      'WebSocket',
      'Sec-WebSocket-Protocol',
      carried(token),
      'sec-websocket-protocol',
      'v5.channel.k8s.io',
    ];
    assert.equal(bearerToken(lines), token);
  });

  it('is not read from a subprotocol that kube-apiserver would not take', () => {
    const other = 'v5.channel.k8s.io';
    for (const headers of [
      websocket(carried(token)),
      websocket(carried(token), carried(token), other),
      websocket(other, `${carried(token)}=`),
      websocket(other, carried(token).replace('base64url', 'BASE64URL')),
      websocket(other, carried(new Uint8Array([0xff, 0xfe]))),
      websocket(other, carried('')),
      websocket(other),
      ['Sec-WebSocket-Protocol', `${other}, ${carried(token)}`],
      ['Upgrade', 'SPDY/3.1', 'Sec-WebSocket-Protocol', `${other}, ${carried(token)}`],
    ]) {
      assert.equal(bearerToken(headers), undefined, headers.join(' '));
    }
  });

  it('is nobody’s when there is one in each place: the API server says which of two speaks', () => {
    const headers = ['Authorization', 'Bearer other', ...websocket('v5.channel.k8s.io', carried(token))];
    assert.equal(bearerToken(headers), undefined);
  });
});
