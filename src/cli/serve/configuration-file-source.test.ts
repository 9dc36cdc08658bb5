import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { commandContext } from '../../../test/support/command-context.ts';
import { completeServeOptions, type FlagChanges, serveFiles } from '../../../test/support/serve-options.ts';
import { readServeInput } from './serve-input.ts';

const file = 'router.yaml';
const header = 'apiVersion: mixed-version-proxy/v1alpha1\nkind: RouterConfiguration\n';
let certificates: ReadonlyMap<string, string>;

before(async () => {
  certificates = await serveFiles();
});

/** As `serve` is started with this text of the file. Flags hold all that is required. */
async function start(text: string, flags: FlagChanges = {}) {
  const { context } = commandContext(new Map([...certificates, [file, header + text]]));
  const given = Object.entries({ ...completeServeOptions, ...flags });
  const { configurationSource } = await readServeInput(
    {
      flags: Object.fromEntries([...given.filter(([, values]) => values !== undefined), ['config', [file]]]),
      issues: [],
    },
    context,
  );
  return configurationSource;
}

async function changes(first: string, second: string, flags: FlagChanges = {}) {
  return (await start(first, flags)).changes(header + second);
}

describe('a configuration file that changes after the start', () => {
  it('tells every setting that a restart would change, with both values', async () => {
    assert.deepEqual(
      await changes(
        'serving: { port: 7443 }\nlogging: { verbosity: 0 }\n',
        'serving: { port: 8443 }\nlogging: { verbosity: 4 }\n',
      ),
      [
        { flag: '--secure-port', key: 'serving.port', inUse: '7443', configured: '8443' },
        { flag: '--v', key: 'logging.verbosity', inUse: '0', configured: '4' },
      ],
    );
  });

  it('is refused with every error, each with its line and its path', async () => {
    await assert.rejects(changes('', 'serving: { prot: 1 }\ntimeouts: { request: soon }\n'), {
      message:
        'router.yaml:3:12: serving.prot is no key of this configuration; did you mean port?; ' +
        'router.yaml:4:22: timeouts.request must be a duration from 1s to 24h, such as 10s, not "soon"',
    });
    await assert.rejects(
      changes('', 'limits: { goawayChance: 0.5 }\n'),
      /router\.yaml:3:25: limits\.goawayChance must be a number from 0 to 0\.02, not 0\.5/,
    );
  });

  it('is refused for what it names, as at the start', async () => {
    const named = changes('', 'authentication: { clientCAFile: /none.crt }\n', {
      'client-ca-file': undefined,
    });
    await assert.rejects(
      named,
      /router\.yaml:3:33: authentication\.clientCAFile: --client-ca-file: cannot read \/none\.crt/,
    );
  });

  it('changes nothing that a flag has set', async () => {
    const told = await changes('logging: { verbosity: 1 }\n', 'logging: { verbosity: 4 }\n', { v: ['2'] });
    assert.deepEqual(told, []);
  });

  it('leaves the settings of the start: only what files hold is read again', async () => {
    const source = await start('logging: { verbosity: 1 }\n');
    const renewed = `${certificates.get('ca.crt')}# renewed\n`;
    const config = await source.read(
      new Map([
        [file, `${header}logging: { verbosity: 4 }\n`],
        ['ca.crt', renewed],
      ]),
    );
    assert.equal(config.settings.logging.verbosity, 1);
    assert.equal(config.clientCa?.pem, renewed);
    await assert.rejects(source.read(new Map([['ca.crt', 'nothing']])), /--client-ca-file/);
  });
});
