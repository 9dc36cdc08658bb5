import type { TimeSlice } from './time.ts';
import { type JsonTextResult, parseJsonText } from './validation.ts';

/** Characters that are parsed at once: `JSON.parse` takes some 4 ms for them. */
const atOnce = 256 * 1024;

/** As `parseJsonText`. A long text is parsed in pieces of about a millisecond, so that others run in between. */
export async function parseLargeJson(
  text: string,
  maximumDepth: number,
  slice: TimeSlice,
): Promise<JsonTextResult> {
  if (text.length <= atOnce) return parseJsonText(text, maximumDepth);
  // A module of its own: a Worker loads it with the first snapshot of such a size.
  const { parseJsonInPieces } = await import('./json-pieces.ts');
  return parseJsonInPieces(text, maximumDepth, slice);
}
