import { parse, YAMLParseError } from 'yaml';

export type YamlResult =
  | { readonly ok: true; readonly value: unknown }
  /** A predicate that follows the name of the file. */
  | { readonly ok: false; readonly issue: string };

/** Reads YAML or JSON. */
export function readYaml(text: string): YamlResult {
  try {
    return { ok: true, value: parse(text, { logLevel: 'error' }) };
  } catch (error) {
    // Without the parser's message: it quotes the text, which may be a key that was given by mistake.
    const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined;
    return { ok: false, issue: `is neither YAML nor JSON${line === undefined ? '' : `: see line ${line}`}` };
  }
}
