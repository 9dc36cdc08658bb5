import type { FlagGroup } from './serve-flags.ts';

/** Flags of `serve` about its other flags. They have no key in a configuration file. */
export const configurationFlagGroup = {
  heading: 'Configuration flags:',
  flags: [
    {
      name: 'config',
      kind: 'value',
      placeholder: 'file',
      description:
        'A RouterConfiguration, YAML or JSON, with a key for every flag below. Flags that are given win over it, one by one. Paths in it are relative to its folder.',
    },
    {
      name: 'dry-run',
      kind: 'boolean',
      placeholder: 'true|false',
      default: 'false',
      description:
        'Check flags, configuration file, certificates and keys, and end: exit code 0 when the router could start with them, 2 with a line for every fault.',
    },
  ],
} as const satisfies FlagGroup;
