import type { Option } from 'commander';
import { addFlags, type FlagGroup, type GivenOptions } from '../flags/flag.ts';
import { boolean, file } from '../flags/flag-types.ts';
import { type ServeFlagName, serveFlagGroups } from '../flags/serve-flags.ts';
import type { CliCommand } from '../terminal/cli-command.ts';
import { similarName } from '../terminal/similar-name.ts';
import { whoseFlag } from '../terminal/usage-error.ts';
import type { ServeArguments } from './serve-input.ts';

/** Reads what `serve` was called with, out of all options of the command. */
type ReadServeArguments = (options: GivenOptions) => ServeArguments;

/** Flags of `serve` about its other flags. They have no key in a configuration file. */
const configurationFlagGroup = {
  heading: 'Configuration flags:',
  flags: [
    {
      name: 'config',
      value: file,
      description:
        'A RouterConfiguration, YAML or JSON, with a key for every flag below. A flag that is given wins over its key. Paths in the file are relative to its folder.',
    },
    {
      name: 'dry-run',
      value: boolean,
      default: 'false',
      description:
        'Check flags, configuration file, certificates and keys, and end: exit code 0 when the router could start with them, 2 with a line for every error.',
    },
  ],
} as const satisfies FlagGroup;

/**
 * Gives a command every flag of `serve`. Unknown flags and arguments are reported with everything else that is wrong,
 * instead of ending the run at the first one.
 */
export function addServeFlags(
  command: CliCommand,
  shown?: (option: Option) => Option | undefined,
): ReadServeArguments {
  command.allowUnknownOption().allowExcessArguments();
  const read = addFlags<ServeFlagName | 'config' | 'dry-run'>(
    command,
    [configurationFlagGroup, ...serveFlagGroups],
    shown,
  );
  return (options) => {
    const { config = [], 'dry-run': dryRun = [], ...flags } = read(options);
    return { flags, configurationFiles: config, dryRun, unknown: unknownArguments(command) };
  };
}

/**
 * The same for a command that looks at an installation: the flags are taken and completed, and all but `--config` are
 * left to the help of `serve`. `--dry-run` is not among them: such a command starts nothing.
 */
export function addExaminedServeFlags(command: CliCommand): ReadServeArguments {
  return addServeFlags(command, (option) => {
    if (option.long === '--dry-run') return undefined;
    if (option.long !== '--config') return option.hideHelp();
    option.description =
      'The RouterConfiguration of the router. Other flags of serve win over it, or take its place.';
    return option.helpGroup('Flags:');
  });
}

/**
 * One line for each argument that `command`, which takes flags only, does not know. The value of an unknown flag
 * follows it as a word of its own and is not named twice.
 */
function unknownArguments(command: CliCommand): readonly string[] {
  const flags = command.args.filter((argument) => argument.startsWith('-'));
  if (flags.length === 0) {
    return command.args.map((argument) => {
      const hint = /\.(ya?ml|json)$/.test(argument)
        ? `; a configuration file is given as --config=${argument}`
        : '';
      return `unexpected argument ${JSON.stringify(argument)}: ${command.name()} takes flags only${hint}`;
    });
  }
  const known = command.options.flatMap(({ long }) => (typeof long === 'string' ? [long.slice(2)] : []));
  return flags.map((flag) => {
    const given = flag.split('=')[0] ?? flag;
    const name = given.replace(/^-+/, '');
    const similar = similarName(name, known);
    const hint = similar === undefined ? whoseFlag(given, command.parent) : `: did you mean --${similar}?`;
    return `unknown flag ${given}${hint}`;
  });
}
