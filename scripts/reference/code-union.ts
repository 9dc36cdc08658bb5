/** One code of a union, with what its comment in the source says; empty where it has none. */
interface CodeMember {
  readonly code: string;
  readonly comment: string;
}

/**
 * The string members of `export type <name> = 'A' | 'B'` in a TypeScript source, in order. Pure.
 * @throws {SyntaxError} when the source has no such union.
 */
export function membersOfUnion(source: string, name: string): readonly CodeMember[] {
  const declaration = new RegExp(`^export type ${name} =([\\s\\S]*?);$`, 'm').exec(source)?.[1];
  const members = [...(declaration ?? '').matchAll(/(?:\/\*\*([\s\S]*?)\*\/\s*)?(?:\|\s*)?'([^']+)'/g)];
  if (members.length === 0) throw new SyntaxError(`there is no union of strings named ${name}`);
  return members.map(([, comment = '', code = '']) => ({ code, comment: sentence(comment) }));
}

/** Names of the unions of error codes and reasons that a source declares. Pure. */
export function codeUnionsIn(source: string): readonly string[] {
  const declarations = source.matchAll(
    /^export type (\w*(?:ErrorCode|Reason|Failure)) =\s*\|?\s*(?:\/\*\*[\s\S]*?\*\/\s*)?(?:\|\s*)?'/gm,
  );
  return [...declarations].map(([, name = '']) => name);
}

function sentence(comment: string): string {
  return comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, ''))
    .join(' ')
    .trim();
}
