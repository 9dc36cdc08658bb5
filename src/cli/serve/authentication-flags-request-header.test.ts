import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type FlagChanges, ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

describe('request-header flags', () => {
  it('take a blank list of names as "any", and say what that means', async () => {
    const blank: FlagChanges = { 'requestheader-allowed-names': [''] };
    assert.equal((await check.config(blank)).requestHeader?.allowedNames, 'any');
    assert.match((await check.warnings(blank)).join('\n'), /--requestheader-allowed-names is blank/);
  });

  it('refuse a forgotten list of names, and one that guards nothing', async () => {
    assert.deepEqual(await check.issues({ 'requestheader-allowed-names': undefined }), [
      '--requestheader-allowed-names',
    ]);
    assert.deepEqual(await check.issues({ 'requestheader-client-ca-file': undefined }), [
      '--requestheader-allowed-names',
    ]);
  });

  it("refuse blank entries in upstream's words", async () => {
    for (const flag of [
      'requestheader-allowed-names',
      'requestheader-username-headers',
      'requestheader-uid-headers',
      'requestheader-group-headers',
      'requestheader-extra-headers-prefix',
    ] as const) {
      const given = flag === 'requestheader-allowed-names' ? 'one,,two' : 'X-Remote-User,';
      assert.ok((await check.messages({ [flag]: [given] })).includes(`empty value in "--${flag}"`), flag);
    }
    assert.match(await check.messages({ 'requestheader-group-headers': [''] }), /empty value in/);
    const { warnings } = await check.validate({ 'requestheader-allowed-names': ['one,,two'] });
    assert.deepEqual(warnings, [], 'it is no blank list');
  });

  it('warn when a standard header is left out, and refuse it for the UID', async () => {
    assert.deepEqual(await check.warnings({ 'requestheader-username-headers': ['X-User'] }), [
      '--requestheader-username-headers is set without specifying the standard X-Remote-User header - API aggregation will not work',
    ]);
    assert.deepEqual(await check.warnings({ 'requestheader-extra-headers-prefix': ['X-Extra-'] }), [
      '--requestheader-extra-headers-prefix is set without specifying the standard X-Remote-Extra- header prefix - API aggregation will not work',
    ]);
    assert.deepEqual(await check.issues({ 'requestheader-uid-headers': ['X-Uid'] }), [
      '--requestheader-uid-headers',
    ]);
    assert.deepEqual(await check.warnings({ 'requestheader-group-headers': ['x-remote-group,X-Group'] }), []);
  });

  it('refuse what is no header name', async () => {
    assert.match(
      await check.messages({ 'requestheader-group-headers': ['X-Remote-Group,X Group'] }),
      /must be a header name, not "X Group"/,
    );
  });

  it('may be left out, with a warning when nothing authenticates callers then', async () => {
    const without: FlagChanges = {
      'client-ca-file': undefined,
      'requestheader-client-ca-file': undefined,
      'requestheader-allowed-names': undefined,
    };
    assert.equal((await check.config(without)).requestHeader, undefined);
    assert.match((await check.warnings(without)).join('\n'), /no caller is authenticated/);
  });
});
