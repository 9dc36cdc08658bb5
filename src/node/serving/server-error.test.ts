import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listenError } from './server-error.ts';

test('an address that is in use is named as it would be written, an IPv6 one in brackets', () => {
  const inUse = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });
  assert.match(listenError(inUse, '10.0.0.1', 6443, '--bind-address').message, /^10\.0\.0\.1:6443 is in use/);
  assert.match(listenError(inUse, '::', 6443, '--bind-address').message, /^\[::\]:6443 is in use/);
});
