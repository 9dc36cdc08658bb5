import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routerSettings } from '../../node/configuration/router-settings.ts';
import { settingsOf } from '../../node/configuration/setting.ts';
import { givenByFlags, Settings } from '../settings/read-settings.ts';
import type { RawServeFlags } from './router-config.ts';
import { settingChanges } from './serve-input.ts';

const inUse = (raw: RawServeFlags) =>
  new Settings(routerSettings, [givenByFlags(routerSettings, raw)], () => '').inUse();
const changes = (before: RawServeFlags, after: RawServeFlags) => settingChanges(inUse(before), inUse(after));

describe('what differs between two configurations', () => {
  it('is told in the order of the settings, each once', () => {
    const flags = settingsOf(routerSettings).map(({ flag }) => flag);
    const other = Object.fromEntries(flags.map((flag) => [flag, ['other']]));
    assert.deepEqual(
      changes({}, other).map(({ flag }) => flag),
      flags.map((flag) => `--${flag}`),
    );
  });

  it('has a list that is set to blank for a value', () => {
    const [change, ...others] = changes(
      { 'requestheader-allowed-names': ['front-proxy-client'] },
      { 'requestheader-allowed-names': [''] },
    );
    assert.deepEqual([change?.inUse, change?.configured], ['front-proxy-client', '(empty)']);
    assert.deepEqual(others, []);
  });

  it('is nothing where only the spelling differs: a default that is written out, a list in quotes', () => {
    assert.deepEqual(
      changes(
        { 'requestheader-allowed-names': ['a,b'] },
        { 'requestheader-allowed-names': ['"a"', 'b'], 'secure-port': ['6443'], 'request-timeout': ['60s'] },
      ),
      [],
    );
  });

  it('shows no secrets', () => {
    const token = 'abcdef.0123456789abcdef';
    const told = changes({ 'snapshot-file': [`a ${token}`] }, {});
    assert.ok(!JSON.stringify(told).includes(token));
    assert.deepEqual(
      told.map(({ flag, configured }) => [flag, configured]),
      [['--snapshot-file', '(not set)']],
    );
  });
});
