import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { commandContext } from '../../../test/support/commands/command-context.ts';
import { completeServeOptions, serveFiles } from '../../../test/support/routers/serve-options.ts';
import { readServeInput } from './serve-input.ts';

const file = 'router.yaml';
const header = 'apiVersion: mixed-version-proxy/v1alpha1\nkind: RouterConfiguration\n';
let certificates: ReadonlyMap<string, string>;

before(async () => {
  certificates = await serveFiles();
});

/** As `serve` is started with this text of the file. Flags hold all that is required. */
async function start(text: string) {
  const { context } = commandContext(new Map([...certificates, [file, header + text]]));
  const { configurationSource } = await readServeInput(
    {
      flags: { ...completeServeOptions, config: [file] },
      issues: [],
    },
    context,
  );
  return configurationSource;
}

describe('the files of a router that runs', () => {
  it('leave the settings of the start: only what they hold is read again', async () => {
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
