import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type RawServeOptions, serveFlags } from '../flags/serve-flags.ts';
import { configurationChanges, liveOptions } from './configuration-changes.ts';

const names = serveFlags.map(({ name }) => name);

function namesOf(changes: readonly { readonly flag: string }[]): string[] {
  return changes.map(({ flag }) => flag);
}

describe('a changed configuration', () => {
  for (const { name, change: when } of serveFlags) {
    it(`tells for --${name} what its declaration says: ${when}`, () => {
      const [before, after]: RawServeOptions[] = [{ [name]: ['7s'] }, { [name]: ['9s'] }];
      assert.ok(before !== undefined && after !== undefined);
      const { live, needsRestart } = configurationChanges(before, after);
      const isLive = when !== 'restart';
      assert.deepEqual(namesOf(isLive ? live : needsRestart), [`--${name}`]);
      assert.deepEqual(isLive ? needsRestart : live, []);
      assert.deepEqual(liveOptions(before, after), isLive ? after : before);
    });
  }

  it('takes a restart for what it turns on or off, where that is declared', () => {
    const off: RawServeOptions = { 'health-check-interval': ['0s'] };
    const on: RawServeOptions = { 'client-ca-file': ['ca.crt'] };
    const { live, needsRestart } = configurationChanges(off, on);
    assert.deepEqual(live, []);
    assert.deepEqual(needsRestart, [
      { flag: '--health-check-interval', key: 'health.checkInterval', inUse: '0s', configured: '5s' },
      {
        flag: '--client-ca-file',
        key: 'authentication.clientCAFile',
        inUse: '(not set)',
        configured: 'ca.crt',
      },
    ]);
    assert.deepEqual(liveOptions(off, on), off);
  });

  it('takes a list that is set to blank for turned on: it is a value', () => {
    const { live } = configurationChanges(
      { 'requestheader-allowed-names': ['front-proxy-client'] },
      { 'requestheader-allowed-names': [''] },
    );
    assert.deepEqual(
      live.map(({ inUse, configured }) => [inUse, configured]),
      [['front-proxy-client', '(empty)']],
    );
  });

  it('is none where only the spelling differs: a default that is written out, a list in quotes', () => {
    const changes = configurationChanges(
      { 'allowed-users': ['a,b'] },
      { 'allowed-users': ['"a"', 'b'], 'secure-port': ['6443'], 'request-timeout': ['60s'] },
    );
    assert.deepEqual(changes, { live: [], needsRestart: [] });
  });

  it('shows no secrets', () => {
    const token = 'abcdef.0123456789abcdef';
    const { needsRestart } = configurationChanges({ 'snapshot-file': [`a ${token}`] }, {});
    assert.ok(!JSON.stringify(needsRestart).includes(token));
    assert.deepEqual(namesOf(needsRestart), ['--snapshot-file']);
  });

  it('leaves every setting that takes a restart as it was, whatever else changes with it', () => {
    const optionsArbitrary = fc.dictionary(
      fc.constantFrom(...names),
      fc.array(fc.constantFrom('0s', '1s', '5s', '7', 'x', ''), { minLength: 1, maxLength: 2 }),
    ) as fc.Arbitrary<RawServeOptions>;
    fc.assert(
      fc.property(optionsArbitrary, optionsArbitrary, (started, next) => {
        const effective = liveOptions(started, next);
        for (const { name, change: when } of serveFlags) {
          if (when === 'restart') assert.deepEqual(effective[name], started[name]);
          if (when === 'at-once') assert.deepEqual(effective[name], next[name]);
        }
        // Once it is in use, only what takes a restart is left to be changed.
        assert.deepEqual(
          namesOf(configurationChanges(effective, next).needsRestart),
          namesOf(configurationChanges(started, next).needsRestart),
        );
        assert.deepEqual(configurationChanges(effective, next).live, []);
      }),
    );
  });

  it('is told in the order of the flags, each once', () => {
    const next = Object.fromEntries(names.map((name) => [name, ['other']])) as RawServeOptions;
    const { live, needsRestart } = configurationChanges({}, next);
    const told = new Set([...namesOf(live), ...namesOf(needsRestart)]);
    assert.equal(told.size, live.length + needsRestart.length);
    assert.deepEqual(
      namesOf(live),
      names.map((name) => `--${name}`).filter((name) => namesOf(live).includes(name)),
    );
  });
});
