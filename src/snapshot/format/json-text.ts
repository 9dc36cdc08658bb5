import type { SnapshotIssue } from './issues.ts';

type JsonTextResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issue: SnapshotIssue };

/**
 * Parses JSON that may be hostile: nesting is bounded before `JSON.parse` sees the text, in one pass, so
 * that no text can use up the stack of anything that walks the result.
 */
export function parseJsonText(text: string, maximumDepth: number): JsonTextResult {
  if (isNestedDeeperThan(text, maximumDepth)) {
    return issue(`is nested deeper than ${maximumDepth} levels`);
  }
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    // The engine's own words: they name the place, and quote a few characters at most.
    return issue(`is not JSON: ${error instanceof Error ? error.message : 'it cannot be parsed'}`);
  }
}

const quote = 0x22;
const backslash = 0x5c;

/** Linear, looks at each character once. Counts brackets outside strings; malformed text may count either way. */
function isNestedDeeperThan(text: string, maximumDepth: number): boolean {
  let depth = 0;
  let insideString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (insideString) {
      if (code === backslash) index++;
      else if (code === quote) insideString = false;
    } else if (code === quote) {
      insideString = true;
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > maximumDepth) return true;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    }
  }
  return false;
}

function issue(message: string): JsonTextResult {
  return { ok: false, issue: { path: '', message } };
}

/** Whether a value of `JSON.parse` is an object, which arrays and `null` are not. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
