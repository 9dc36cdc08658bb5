import { maximumNegotiated } from './accept.ts';

/** Shorter responses fit into one packet as they are. In characters. */
const gzipThreshold = 1400;

/** Workers compress a body marked as gzip themselves unless told that it is compressed; others ignore this. */
export interface EncodedResponseInit extends ResponseInit {
  readonly encodeBody: 'manual';
}

/**
 * A response with gzip where the client takes it and it is worth it. What is compressed must hold no secret beside what the
 * caller put in, which its length could give away (BREACH).
 * @param headers without what is said of the coding
 */
export async function textResponse(
  text: string,
  { vary, ...headers }: Readonly<Record<string, string>>,
  acceptEncoding: string | undefined,
): Promise<Response> {
  const common = { ...headers, vary: vary === undefined ? 'Accept-Encoding' : `${vary}, Accept-Encoding` };
  if (!acceptsGzip(acceptEncoding) || text.length < gzipThreshold) {
    return new Response(text, { headers: common });
  }
  const init: EncodedResponseInit = {
    headers: { ...common, 'content-encoding': 'gzip' },
    encodeBody: 'manual',
  };
  return new Response(await gzip(new TextEncoder().encode(text)), init);
}

export async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const compressed = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(compressed).arrayBuffer());
}

/** RFC 9110 section 12.5.3. A header that is too large counts as absent, as `parseAccept` has it. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  let byStar = false;
  if (acceptEncoding !== undefined && acceptEncoding.length > maximumNegotiated) return false;
  for (const element of (acceptEncoding ?? '').split(',')) {
    const [coding = '', ...parameters] = element.split(';').map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter));
    if (coding === 'gzip') return !refused;
    if (coding === '*') byStar = !refused;
  }
  return byStar;
}
