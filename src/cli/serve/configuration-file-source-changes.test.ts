import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type RawServeOptions, serveFlags } from '../flags/serve-flags.ts';
import { configurationChanges } from './configuration-file-source.ts';

const names = serveFlags.map(({ name }) => name);

describe('what differs between two configurations', () => {
  it('is told in the order of the flags, each once', () => {
    const other = Object.fromEntries(names.map((name) => [name, ['other']])) as RawServeOptions;
    assert.deepEqual(
      configurationChanges({}, other).map(({ flag }) => flag),
      names.map((name) => `--${name}`),
    );
  });

  it('has a list that is set to blank for a value', () => {
    const [change, ...others] = configurationChanges(
      { 'requestheader-allowed-names': ['front-proxy-client'] },
      { 'requestheader-allowed-names': [''] },
    );
    assert.deepEqual([change?.inUse, change?.configured], ['front-proxy-client', '(empty)']);
    assert.deepEqual(others, []);
  });

  it('is nothing where only the spelling differs: a default that is written out, a list in quotes', () => {
    const changes = configurationChanges(
      { 'requestheader-allowed-names': ['a,b'] },
      { 'requestheader-allowed-names': ['"a"', 'b'], 'secure-port': ['6443'], 'request-timeout': ['60s'] },
    );
    assert.deepEqual(changes, []);
  });

  it('shows no secrets', () => {
    const token = 'abcdef.0123456789abcdef';
    const changes = configurationChanges({ 'snapshot-file': [`a ${token}`] }, {});
    assert.ok(!JSON.stringify(changes).includes(token));
    assert.deepEqual(
      changes.map(({ flag, configured }) => [flag, configured]),
      [['--snapshot-file', '(not set)']],
    );
  });
});
