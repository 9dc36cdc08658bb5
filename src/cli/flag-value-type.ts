import type { FlagDefinition } from './serve-flags.ts';

/** What may stand behind a flag, or under its key in a configuration file. */
export type FlagValueType =
  | { readonly type: 'text' | 'file' | 'directory' | 'duration' | 'integer' | 'number' | 'boolean' | 'gates' }
  | { readonly type: 'choice'; readonly choices: readonly string[] }
  /** Lists of text, or of paths. */
  | { readonly type: 'list' | 'files' };

const integerPlaceholders = new Set(['count', 'days', 'events', 'level', 'megabytes', 'number', 'port']);

/**
 * Reads the type of a flag off its definition. The placeholder is what the help shows in the place of the value,
 * so help, completion and configuration file cannot say different things.
 */
export function flagValueType({
  kind,
  placeholder,
}: Pick<FlagDefinition, 'kind' | 'placeholder'>): FlagValueType {
  if (kind === 'boolean') return { type: 'boolean' };
  if (placeholder === 'Gate=true|false') return { type: 'gates' };
  if (kind === 'list') return { type: placeholder === 'file' ? 'files' : 'list' };
  if (placeholder === 'file' || placeholder === 'directory') return { type: placeholder };
  if (placeholder === 'duration') return { type: 'duration' };
  if (integerPlaceholders.has(placeholder)) return { type: 'integer' };
  if (/^\d+(\.\d+)?\.\.\d+(\.\d+)?$/.test(placeholder)) return { type: 'number' };
  if (placeholder.includes('|')) return { type: 'choice', choices: placeholder.split('|') };
  return { type: 'text' };
}
