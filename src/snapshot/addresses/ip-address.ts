/** An IP address: 32 or 128 bits, most significant first. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly bits: bigint;
}

/** The same of one address, however it was written. */
export function ipAddressKey({ family, bits }: IpAddress): string {
  return `IPv${family} ${bits}`;
}

/**
 * Four decimal numbers, each written as short as can be. Octal (`0177.0.0.1`), hexadecimal, short (`127.1`)
 * and whole-number (`2130706433`) spellings are refused: parsers disagree on them, and a check that reads
 * them one way guards nothing when the socket reads them another way.
 */
export function parseIPv4(text: string): IpAddress | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let bits = 0n;
  for (const part of parts) {
    if (!/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined;
    bits = (bits << 8n) | BigInt(part);
  }
  return { family: 4, bits };
}

/** RFC 4291 section 2.2, without brackets and without a zone. */
export function parseIPv6(text: string): IpAddress | undefined {
  const halves = text.split('::');
  if (text.length > 45 || halves.length > 2) return undefined;
  const head = groupsOf(halves[0] ?? '', halves.length === 1);
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? '', true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  // `::` stands for one group at the least (RFC 5952 section 4.2.2 on writing it; 4291 says "one or more").
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...new Array<bigint>(missing).fill(0n), ...tail];
  return { family: 6, bits: groups.reduce((bits, group) => (bits << 16n) | group, 0n) };
}

/** Either family, without brackets. */
export function parseIpAddress(text: string): IpAddress | undefined {
  return text.includes(':') ? parseIPv6(text) : parseIPv4(text);
}

function groupsOf(text: string, mayEndInIPv4: boolean): bigint[] | undefined {
  if (text === '') return [];
  const groups: bigint[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(BigInt(`0x${part}`));
      continue;
    }
    const embedded = mayEndInIPv4 && index === parts.length - 1 ? parseIPv4(part) : undefined;
    if (embedded === undefined) return undefined;
    groups.push(embedded.bits >> 16n, embedded.bits & 0xffffn);
  }
  return groups;
}

/** A block of addresses. */
export interface Cidr {
  readonly family: 4 | 6;
  readonly bits: bigint;
  readonly prefixLength: number;
}

/** `10.0.0.0/8`, `fd00::/8`. `undefined` when it is invalid, or has bits set after its prefix. */
export function parseCidr(text: string): Cidr | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  const parsed = parseIpAddress(address);
  if (parsed === undefined || rest.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const prefixLength = Number(length);
  if (prefixLength > widthOf(parsed.family)) return undefined;
  const cidr = { family: parsed.family, bits: parsed.bits, prefixLength };
  // 10.0.0.1/8 is a mistake: it means either one address or the whole block.
  return (parsed.bits & hostMask(cidr)) === 0n ? cidr : undefined;
}

/** For blocks written in the source. @throws {TypeError} when `text` is none. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new TypeError(`${text} is not a CIDR block.`);
  return parsed;
}

export function contains(block: Cidr, address: IpAddress): boolean {
  return (
    block.family === address.family && (address.bits | hostMask(block)) === (block.bits | hostMask(block))
  );
}

function hostMask(block: Cidr): bigint {
  return (1n << BigInt(widthOf(block.family) - block.prefixLength)) - 1n;
}

function widthOf(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}
