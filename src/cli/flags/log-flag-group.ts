import type { FlagGroup } from './flag.ts';
import { choice, type FlagType } from './flag-types.ts';

/** How much a command logs, and in which form. @param shown what level 4 adds, for the help */
export const logFlagGroup = <Level extends FlagType<number>>(shown: string, level: Level) =>
  ({
    heading: 'Log flags:',
    flags: [
      {
        name: 'v',
        short: 'v',
        key: 'logging.verbosity',
        value: level,
        change: 'at-once',
        default: '0',
        description: `Verbosity. 4 and more shows every ${shown}.`,
      },
      {
        name: 'logging-format',
        key: 'logging.format',
        value: choice('text', 'json'),
        change: 'at-once',
        default: 'text',
        description: 'Form of the log lines.',
      },
    ],
  }) as const satisfies FlagGroup;
