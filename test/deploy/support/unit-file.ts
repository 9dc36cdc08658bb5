/** Settings by section and name, in their order; a name may stand several times. */
export type UnitFile = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** Reads a systemd unit (systemd.syntax(7)) without line continuations, which ours do not have. @throws Error with the line */
export function parseUnitFile(text: string): UnitFile {
  const sections = new Map<string, Map<string, string[]>>();
  let current: Map<string, string[]> | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '' || line.startsWith('#')) continue;
    const [, section] = /^\[(\w+)\]$/.exec(line) ?? [];
    if (section !== undefined) {
      if (sections.has(section)) throw new Error(`line ${index + 1}: a second section ${section}`);
      current = new Map();
      sections.set(section, current);
      continue;
    }
    const [, name, value] = /^(\w+)=(.*[^\\]|)$/.exec(line) ?? [];
    if (current === undefined || name === undefined || value === undefined) {
      throw new Error(`line ${index + 1}: not a setting: ${line}`);
    }
    current.set(name, [...(current.get(name) ?? []), value]);
  }
  return sections;
}
