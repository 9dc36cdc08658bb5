import { similarName } from '../terminal/similar-name.ts';
import { removedServeFlags } from './deprecated-flags.ts';

/**
 * One line for each argument that `command`, which takes flags only, does not know. The value of an unknown flag
 * follows it as a word of its own and is not named twice. Of a flag that is gone it says what to do instead.
 */
export function unknownArguments(
  rest: readonly string[],
  flagNames: readonly string[],
  command: string,
): readonly string[] {
  const flags = rest.filter((argument) => argument.startsWith('-'));
  if (flags.length === 0) {
    return rest.map((argument) => {
      const hint = /\.(ya?ml|json)$/.test(argument)
        ? `; a configuration file is given as --config=${argument}`
        : '';
      return `unexpected argument ${JSON.stringify(argument)}: ${command} takes flags only${hint}`;
    });
  }
  return flags.map((flag) => {
    const given = flag.split('=')[0] ?? flag;
    const name = given.replace(/^-+/, '');
    const removed = removedServeFlags.find((flag) => flag.name === name);
    if (removed !== undefined) return `${given} was removed: ${removed.instead}`;
    const similar = similarName(name, flagNames);
    return `unknown flag ${given}${similar === undefined ? '' : `: did you mean --${similar}?`}`;
  });
}
