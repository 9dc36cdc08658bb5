import type { ServeConfig } from '../node/serve-config.ts';
import type { FlagReport, FlagValues } from './flag-values.ts';

/** More processors than any machine has that would be used for this. */
const mostProcesses = 128;

/**
 * Reads how many processes the router is made of; `undefined` after a fault.
 * @param processors what `auto` means
 */
export function readProcessesFlag(
  values: FlagValues,
  report: FlagReport,
  processors: number,
): ServeConfig['processes'] | undefined {
  const text = values.text('processes');
  if (text === undefined) return undefined;
  const given = text === 'auto' ? 0 : /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (given >= 0 && given <= mostProcesses) {
    const count = given === 0 ? Math.min(processors, mostProcesses) : given;
    return { count, number: undefined };
  }
  return report.fault(
    'processes',
    `--processes must be auto, or a whole number from 0 (the same as auto) to ${mostProcesses}, not "${text}"`,
  );
}
