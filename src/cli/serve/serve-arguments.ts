import { sectionsOf } from '../flags/flag.ts';
import { boolean, file } from '../flags/flag-types.ts';
import { serveFlagGroups } from '../flags/serve-flags.ts';

const config = {
  name: 'config',
  value: file,
  description:
    'A RouterConfiguration, YAML or JSON, with a key for every flag below. A flag that is given wins over its key. Paths in the file are relative to its folder.',
} as const;

/** Flags of `serve` about its other flags. They have no key in a configuration file. */
export const serveCallSections = sectionsOf([
  {
    heading: 'Configuration flags:',
    flags: [
      config,
      {
        name: 'dry-run',
        value: boolean,
        default: 'false',
        description:
          'Check flags, configuration file, certificates and keys, and end: exit code 0 when the router could start with them, 2 with a line for every error.',
      },
    ],
  },
]);

export const serveSections = sectionsOf(serveFlagGroups);

/** Of a command that looks at an installation: it starts nothing. */
export const examinedConfigSections = sectionsOf([
  {
    heading: 'Flags:',
    flags: [
      {
        ...config,
        description:
          'The RouterConfiguration of the router. Other flags of serve win over it, or take its place.',
      },
    ],
  },
]);
