import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;

before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

describe('--admin-bind-address', () => {
  it('is off unless it is given', async () => {
    assert.equal((await check.config()).settings.admin.bindAddress, undefined);
  });

  it('is an IP address and a port, of which 0 is any', async () => {
    for (const [text, host, port] of [
      ['127.0.0.1:9443', '127.0.0.1', 9443],
      ['[::1]:0', '::1', 0],
      ['0.0.0.0:9443', '0.0.0.0', 9443],
    ] as const) {
      const { settings } = await check.config({ 'admin-bind-address': [text] });
      assert.deepEqual(settings.admin.bindAddress, { host, port });
    }
    for (const text of ['9443', ':9443', 'localhost:9443', '127.0.0.1', '::1:9443', '127.0.0.1:70000', '0']) {
      assert.deepEqual(await check.issues({ 'admin-bind-address': [text] }), ['--admin-bind-address'], text);
    }
  });

  it('warns of an address that others can reach', async () => {
    assert.deepEqual(await check.warnings({ 'admin-bind-address': ['127.0.0.2:9443'] }), []);
    const [warning] = await check.warnings({ 'admin-bind-address': ['10.0.0.7:9443'] });
    assert.match(warning ?? '', /--admin-bind-address: 10\.0\.0\.7 is no loopback address/);
  });
});
