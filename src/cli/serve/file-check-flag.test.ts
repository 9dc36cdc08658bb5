import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

it('files are looked at every ten seconds unless told otherwise', async () => {
  assert.equal((await check.config()).fileCheckInterval, 10_000);
  assert.equal((await check.config({ 'file-check-interval': ['1m30s'] })).fileCheckInterval, 90_000);
});

it('an interval that is none, or out of reason, is an error', async () => {
  for (const given of ['10', '0s', '999ms', '25h', '-1s', 'often']) {
    assert.deepEqual(
      await check.issues({ 'file-check-interval': [given] }),
      ['--file-check-interval'],
      given,
    );
  }
});
