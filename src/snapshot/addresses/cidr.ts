import { type IpAddress, parseIpAddress } from './ip-address.ts';

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
  // 10.0.0.1/8 is a slip of the pen: somebody means either one address or the whole block.
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
