import { section } from '../../node/configuration/setting-types.ts';
import { readFlags } from '../settings/read-settings.ts';
import type { Command } from '../terminal/command.ts';
import { ownManifest } from '../terminal/package-version.ts';
import { jsonText, outputSetting } from '../terminal/structured-text.ts';

const flags = section('Flags:', { output: outputSetting });

export const versionCommand: Command = {
  description: 'Print the version of mixed-version-proxy and of the Node.js it runs on.',
  flags: [flags],
  async run(given, context) {
    const { output } = readFlags(flags, given);
    const { version, gitHead } = ownManifest();
    const text = `mixed-version-proxy v${version}\nNode.js ${process.version}\n`;
    const facts = {
      version: `v${version}`,
      ...(gitHead !== undefined && { commit: gitHead }),
      nodeVersion: process.version,
      platform: `${process.platform}/${process.arch}`,
    };
    await context.writeOutput(output === 'text' ? text : jsonText(facts));
    return 0;
  },
};
