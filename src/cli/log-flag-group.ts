/** How much a command logs, and in which form. @param shown what level 4 adds, for the help */
export const logFlagGroup = (shown: string) =>
  ({
    heading: 'Log flags:',
    flags: [
      {
        name: 'v',
        short: 'v',
        kind: 'value',
        placeholder: 'level',
        default: '0',
        description: `Verbosity. 4 and more shows every ${shown}.`,
      },
      {
        name: 'logging-format',
        kind: 'value',
        placeholder: 'text|json',
        default: 'text',
        description: 'Form of the log lines.',
      },
    ],
  }) as const;
